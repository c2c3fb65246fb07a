/** Runs tasks at the same time, up to a number of them. */
export class Tasks {
  readonly #most: number
  #running = 0
  #failure: { readonly reason: unknown } | undefined
  #wake = () => {}

  constructor(most: number) {
    this.#most = most
  }

  /** Starts the task, once there is room. Rejects with the failure of an earlier one. */
  async add(task: () => Promise<void>): Promise<void> {
    await this.#until(() => this.#running < this.#most)
    this.#running++
    task()
      .catch((reason: unknown) => {
        this.#failure ??= { reason }
      })
      .finally(() => {
        this.#running--
        this.#wake()
      })
  }

  /**
   * Waits until all tasks have ended. Rejects with the first failure, without waiting for others.
   */
  end(): Promise<void> {
    return this.#until(() => this.#running === 0)
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (this.#failure === undefined && !isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#failure !== undefined) throw this.#failure.reason
  }
}
