/** What the data group's replies hold for missing values. */
export interface Absent {
  readonly text: string | null
  readonly number: number | null
  readonly image: string | null
}

/** The specification types these fields as strings, numbers and URLs. */
const documented: Absent = { text: '', number: 0, image: 'data:image/svg+xml,%3Csvg%20xmlns=%22http://www.w3.org/2000/svg%22/%3E' }
/** Real services send null. */
const production: Absent = { text: null, number: null, image: null }

export function absentValues(likeProduction: boolean): Absent {
  return likeProduction ? production : documented
}
