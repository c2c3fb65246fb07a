/** A count with separated thousands: `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact' })

/** A count in at most four characters, rounded: `1.2K`, `34M`. */
export function brief(value: number): string {
  return compact.format(value)
}

/** A count with its noun: `1 row`, `1,234 rows`. */
export function countOf(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** A duration: `12 s`, `3 min 20 s`, `5 h 12 min`. */
export function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A duration in its largest unit: `12 s`, `3 min`, `5 h`, `12 d`. */
export function briefDurationOf(ms: number): string {
  const minutes = Math.round(ms / 1000) / 60
  if (minutes < 1) return durationOf(ms)
  if (minutes < 60) return `${Math.floor(minutes)} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} d`
}

/** A size in decimal units: `1.2 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`
}
