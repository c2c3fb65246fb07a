import type { AuditReport } from '../bulk/logs/audit.ts'
import type { Messages } from './output/messages.ts'
import { count } from './output/units.ts'

/** What an audit has not proven, or that there was none. Throws where the user asked for proof. */
export function tellAudit(messages: Messages, { level, unproven, reasons }: AuditReport, isAskedFor: boolean): void {
  if (unproven > 0) {
    const why = Object.entries(reasons).map(([reason, blocks]) => `${count(blocks)} because ${reason}`)
    const sentence = `${count(unproven)} ${unproven === 1 ? 'block' : 'blocks'} could not be proven: ${why.join('; ')}`
    if (isAskedFor) throw new Error(sentence)
    messages.warn(sentence)
  } else if (level === 'none' && !isAskedFor) {
    messages.tell('not audited, because the range is not final: use --audit or --to finalized to find blocks that were left out', {
      type: 'not-audited',
    })
  }
}

/** What an audit is about to request. */
export function tellCostOfAudit(messages: Messages, { level, estimate }: AuditReport): void {
  const { headers, receipts } = estimate
  messages.tell(`audit by ${level}: ${level === 'peer' ? COST_OF_PEER : costOf(level, estimate)}`, { type: 'audit', level, headers, receipts })
}

/** How many blocks differ is not known before. */
const COST_OF_PEER = 'each range of logs from a second node, too, and the receipts of blocks where the two differ'

function costOf(level: AuditReport['level'], { headers, receipts }: AuditReport['estimate']): string {
  const about = level === 'bloom' ? 'at most about ' : ''
  const ofBlocks = receipts === 0 ? 'of hardly any block' : `of ${about}${count(receipts)} ${receipts === 1 ? 'block' : 'blocks'}`
  const limits = level === 'bloom' ? '. It finds blocks whose logs are all missing; --audit receipts finds single missing logs, too' : ''
  return `${count(headers)} ${headers === 1 ? 'header' : 'headers'}, and the receipts ${ofBlocks}${limits}`
}
