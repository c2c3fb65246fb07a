import type { Settings } from './options.ts'
import { pageOf } from './pages.ts'
import { readQuery, required, text, whole } from './query.ts'
import { json, type Reply } from './reply.ts'

/** The limit of the specification (Limits, 1). */
const LARGEST_PAGE = 100

/**
 * All streams of the key's project, by id. The last page has an empty cursor, as documented, or no
 * cursor, as on real services. Throws `BadQuery`. Service specification, operation 7.
 */
export function listStreams({ seed, likeProduction }: Pick<Settings, 'seed' | 'likeProduction'>, search: URLSearchParams): Reply {
  const query = readQuery(search, { limit: required(whole(1, LARGEST_PAGE)), cursor: text('the cursor of a page') })
  const { items, cursor } = pageOf(seed.streams, ({ id }) => id, { ...query, of: [7] })
  return json(200, { result: items, ...(cursor === undefined && likeProduction ? {} : { cursor: cursor ?? '' }), total: seed.streams.length })
}
