import type { Verification } from 'hexline/bulk'

export function assertProven({ skipped }: Verification): void {
  const [first] = skipped
  if (first !== undefined) throw new Error(`not proven: ${first.check}: ${first.reason}`)
}
