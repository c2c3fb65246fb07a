/**
 * Whether an endpoint takes batches at all:
 *
 *                 a batch fails
 *     unknown ───────────────────▶ doubted ── a lone call is answered ──▶ singles
 *        ▲  ▲                         │  │
 *        │  └── their length changes ─┘  └── a lone call fails, too ─▶ failing ──┐
 *        └── a lone call is answered ────────────────────────────────────────────┘
 *     any ── a batch is answered ──▶ batches
 *
 * - `unknown`: no batch has been answered, and none has failed without a reason;
 * - `doubted`: one has, so calls go one by one, to see whether these are answered;
 * - `singles`: they are, so calls keep going one by one, and batches are tried again ever more
 *   rarely;
 * - `failing`: they are not, so batches were not the reason, and calls travel together again;
 * - `batches`: a batch has been answered.
 */
type Support = 'unknown' | 'doubted' | 'singles' | 'failing' | 'batches'

/** See `Support`. */
export class BatchSupport {
  #state: Support = 'unknown'

  /** It takes none. */
  get isNone(): boolean {
    return this.#state === 'singles'
  }

  /** It may take none, as far as is known: a batch that fails may have failed for being one. */
  get mayBeNone(): boolean {
    return this.#state !== 'batches' && this.#state !== 'failing'
  }

  /** A POST of this length was answered in full. */
  answered(length: number): void {
    if (length > 1) this.#state = 'batches'
    else if (this.#state === 'failing') this.#state = 'unknown'
    else if (this.#state === 'doubted') this.#state = 'singles'
  }

  /** A batch failed without a reason, where it may take none. */
  batchFailed(): void {
    if (this.#state === 'unknown') this.#state = 'doubted'
  }

  /** A lone call failed. True where that shows that batches were not the reason. */
  loneCallFailed(): boolean {
    if (this.#state !== 'doubted') return false
    this.#state = 'failing'
    return true
  }

  /** Batches have another length now, for another reason. */
  lengthChanged(): void {
    if (this.#state === 'doubted') this.#state = 'unknown'
  }
}
