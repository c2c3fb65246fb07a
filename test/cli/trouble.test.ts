import { expect, it } from 'vitest'
import { messageOf } from '../../src/cli/output/failure.ts'
import { Trouble } from '../../src/cli/trouble.ts'
import { NetworkError } from '../../src/index.ts'

it('reports each trouble once, and its end', () => {
  const told: unknown[] = []
  const trouble = new Trouble({ tell: (sentence, facts) => void told.push([sentence, facts.type]), explain: messageOf })
  const refused = new NetworkError('host: no connection')
  for (const each of [undefined, refused, refused, new NetworkError('host: cut'), undefined, undefined, refused]) trouble.tell(each)
  const waiting = (why: string) => [`no progress, trying again: host: ${why}; is the node running, and is the URL right?`, 'waiting']
  expect(told).toEqual([waiting('no connection'), waiting('cut'), ['the node answers again', 'recovered'], waiting('no connection')])
})
