/*
 * A program that makes one call and then has nothing more to do. Anything that the call leaves
 * behind (a timer, a socket) keeps the process alive, which the test that started it detects, since
 * all timers of the call are longer than the test. Arguments: the service's address, and how the
 * call ends.
 */
const [url = '', what = ''] = process.argv.slice(2)
// Node.js's own fetch sets a global dispatcher of its undici version, if it is used first.
if (what === 'after fetch') await (await fetch(url)).text()
const { getStreams } = await import('../../src/rest/index.ts')

const aborter = new AbortController()
const hours = { timeoutMs: 10_000_000, deadlineMs: 10_000_000, retry: { baseDelayMs: 10_000_000, maxDelayMs: 10_000_000 }, signal: aborter.signal }
const list = getStreams({ streamsUrl: url, apiKey: 'k' }, { limit: 5 }, hours)

if (what === 'aborted') {
  const ended = Promise.resolve(list).then(
    () => 'given',
    (reason) => reason,
  )
  // The server answers a POST once it has received a GET.
  await fetch(url, { method: 'POST' }).then((response) => response.text())
  aborter.abort('enough')
  console.log(await ended)
} else if (what === 'broken off') {
  for await (const { id } of list) {
    console.log(id)
    break
  }
} else console.log((await list).result.map(({ id }) => id).join(' '))
