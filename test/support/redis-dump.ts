import type { Redis } from 'ioredis'

/** Every key of a server with all that it holds, as text: in search of secrets. */
export async function dumpOf(redis: Redis): Promise<string> {
  const texts: string[] = []
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key)
    // Gone since the keys were listed, as those of BullMQ that only wake a worker.
    if (type === 'none') continue
    const read = {
      hash: () => redis.hgetall(key),
      list: () => redis.lrange(key, 0, -1),
      zset: () => redis.zrange(key, '0', '-1'),
      stream: () => redis.xrange(key, '-', '+'),
      set: () => redis.smembers(key),
      string: () => redis.get(key),
    }[type]
    if (read === undefined) throw new Error(`${key} is of type ${type}`)
    texts.push(`${key} ${JSON.stringify(await read())}`)
  }
  return texts.join('\n')
}
