/** A row of CSV as RFC 4180 has it, with its line feed: null is an empty field. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(field).join(',')}\n`
}

function field(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  // An empty text is not null.
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
