import type { HexlineError } from '../errors.ts'
import type { Messages } from './output/messages.ts'

/** Reports each trouble with the node once, and its end. */
export class Trouble {
  readonly #messages: Pick<Messages, 'tell' | 'explain'>
  #said: string | undefined

  constructor(messages: Pick<Messages, 'tell' | 'explain'>) {
    this.#messages = messages
  }

  /** One was reported, and its end was not. */
  get isTold(): boolean {
    return this.#said !== undefined
  }

  /** Undefined for progress. */
  tell(failure: HexlineError | undefined): void {
    const sentence = failure && this.#messages.explain(failure)
    if (sentence === this.#said) return
    if (sentence === undefined) this.#messages.tell('the node answers again', { type: 'recovered' })
    else this.#messages.tell(`no progress, trying again: ${sentence}`, { type: 'waiting', kind: failure?.kind, message: sentence })
    this.#said = sentence
  }
}
