import type { Redis } from 'ioredis'

/*
 * What all workers know of an endpoint, in Redis: the rate, when the next call may go, and what
 * became of the POSTs since the estimate was last made. Times are in ms, on the clock of Redis.
 */

/** Time that no worker has used, up to this much, is made up for, in ms. */
const SLACK_MS = 25
/**
 * Calls are granted at most this far ahead, in ms; where the rate is low, as far as each worker
 * needs to hold a lease, up to a limit where that rate was learnt. Else the worker that is next to
 * Redis would be the first to ask each time, and the others would wait for ever.
 */
const AHEAD_MS = 500
const MOST_AHEAD_MS = 5000
/** A lease holds at least this many calls, so that there are fewer questions than POSTs. */
export const LEAST_CALLS = 2
/** A worker that has not asked for this long after its turn is not counted, in ms. */
const ACTIVE_MS = 2000
/** The worker that makes the estimate is replaced when it has not asked for this long, in ms. */
const LEADER_MS = 1000
/** What is learnt is kept for this long after the last question, in ms. */
const KEPT_MS = 600_000
/** Events that wait for the estimate, at most: those of a minute without a leader. */
const MOST_EVENTS = 20_000

/** What was granted before a cut is void if the rate is cut to less than this part of it. */
const FAR_LOWER = 0.8

/*
 * What workers are told at once, by a channel: that grants up to a time are void, since the rate
 * was cut by much or the endpoint wants a pause; or that calls were refused, which the worker that
 * makes the estimate asks about.
 */
const VOID = 'void '
const REFUSED = 'refused'

/** Grants up to this time of Redis are void; undefined for news of a refusal. */
export function voidUntil(message: string): number | undefined {
  return message.startsWith(VOID) ? Number(message.slice(VOID.length)) : undefined
}

const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local me, wanted, cost, units = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local names = {'leader', 'leaderUntil', 'rate', 'level', 'since', 'next', 'nextUnits', 'pausedUntil', 'held', 'idle', 'longest', 'at'}
local values = redis.call('HMGET', KEYS[1], unpack(names))
local s = {}
for i, name in ipairs(names) do s[name] = values[i] or false end
local function number(name, default) return tonumber(s[name]) or default end
-- The clock was set back, or another Redis has taken over, with a clock of its own.
local back = number('at', now) - now
if back > 0 then
  for _, name in ipairs({'leaderUntil', 'since', 'next', 'nextUnits', 'pausedUntil', 'at'}) do
    if s[name] then s[name] = s[name] - back end
  end
  for _, worker in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do redis.call('ZINCRBY', KEYS[3], -back, worker) end
end
local rate, nextAt, nextUnits = number('rate', tonumber(ARGV[5])), number('next', now), number('nextUnits', now)
local pauseMs = tonumber(ARGV[6])
local pausedUntil = math.max(number('pausedUntil', 0), pauseMs > 0 and now + pauseMs or 0)
local isVoid = pausedUntil > math.max(now, number('pausedUntil', 0) + ${SLACK_MS})

local wasLeader = s.leader == me
local isLeader = wasLeader or number('leaderUntil', 0) < now
if isLeader then s.leader, s.leaderUntil = me, now + ${LEADER_MS} end
if wasLeader and ARGV[7] ~= '' then
  local before = rate
  rate, s.level = tonumber(ARGV[7]), ARGV[8]
  if ARGV[9] ~= '0' then
    s.since = now
    if rate < ${FAR_LOWER} * before then
      nextAt = now + 1000 / rate
      isVoid = true
    else
      nextAt = math.max(nextAt, now) + 1000 / rate
    end
  end
end
s.rate = rate
if isVoid then
  redis.call('PUBLISH', KEYS[4], string.format('${VOID}%.6f', now))
elseif not isLeader and tonumber(ARGV[11]) > number('since', 0) then
  redis.call('PUBLISH', KEYS[4], '${REFUSED}')
end

local passed = math.max(0, now - number('at', now))
local held = math.min(passed, math.max(0, number('next', now) + ${SLACK_MS} - number('at', now)))
s.held, s.idle, s.at = number('held', 0) + held, number('idle', 0) + passed - held, now

for i = 13, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
if #ARGV > 12 then
  redis.call('LTRIM', KEYS[2], -${MOST_EVENTS}, -1)
  redis.call('PEXPIRE', KEYS[2], ${KEPT_MS})
end

redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ${ACTIVE_MS})
if wanted > 0 then
  redis.call('ZADD', KEYS[3], now, me)
  redis.call('PEXPIRE', KEYS[3], ${KEPT_MS})
end
local active = math.max(1, redis.call('ZCARD', KEYS[3]))

if units > 0 then nextUnits = nextUnits - tonumber(ARGV[12]) * 1000 / units end
local granted, start = 0, now
if wanted > 0 then
  local lease = tonumber(ARGV[10])
  nextAt = math.max(nextAt, now - ${SLACK_MS}, pausedUntil)
  start = math.max(now, nextAt)
  local inUnits = units > 0 and cost > 0
  local msPerCall = 1000 / rate
  local ahead = math.max(${AHEAD_MS}, math.min(${MOST_AHEAD_MS}, active * ${LEAST_CALLS} * msPerCall))
  if inUnits then
    s.longest = math.max(number('longest', 0), cost * 1000 / units)
    msPerCall = math.max(msPerCall, cost * 1000 / units)
    ahead = math.max(ahead, active * s.longest)
    nextUnits = math.max(nextUnits, now - ${SLACK_MS}, pausedUntil)
    start = math.max(start, nextUnits)
  end
  if start - now > ahead then
    start = start - ahead / 2
  else
    granted = math.min(wanted, math.max(${LEAST_CALLS}, math.floor(rate * lease / 1000 / active)))
    if inUnits then
      granted = math.min(granted, math.max(1, math.floor(units * lease / 1000 / active / cost)))
      nextUnits = nextUnits + granted * cost * 1000 / units
    end
    nextAt = nextAt + granted * 1000 / rate
  end
  -- A worker with a lease asks no more before its second half.
  redis.call('ZADD', KEYS[3], start + granted / 2 * msPerCall * active, me)
end

local events, heldMs, idleMs = {}, 0, 0
if isLeader then
  events = redis.call('LRANGE', KEYS[2], 0, -1)
  redis.call('DEL', KEYS[2])
  heldMs, idleMs, s.held, s.idle = s.held, s.idle, 0, 0
end

s.next, s.nextUnits, s.pausedUntil = nextAt, nextUnits, pausedUntil
local fields = {}
for _, name in ipairs(names) do
  if s[name] then
    fields[#fields + 1] = name
    fields[#fields + 1] = type(s[name]) == 'number' and string.format('%.6f', s[name]) or s[name]
  end
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ${KEPT_MS})
local reply = {now, granted, start, isLeader and 1 or 0, rate, number('level', 0), number('since', 0), active, heldMs, idleMs}
for i, value in ipairs(reply) do reply[i] = string.format('%.6f', value) end
for _, event in ipairs(events) do reply[#reply + 1] = event end
return reply
`

/** What a worker asks for and tells. */
export interface Question {
  /** Tells workers apart. */
  readonly me: string
  /** Calls that wait; 0 only tells. */
  readonly wanted: number
  /** Calls are granted for this long at a time, divided by the workers that ask, in ms. */
  readonly leaseMs: number
  /** What the first of them costs, and how much may be spent per second; 0 without a given rate. */
  readonly cost: number
  readonly unitsPerSecond: number
  /** Units that were granted and not used; below 0 where more were used. */
  readonly spare: number
  /** Calls per second where nothing is known yet. */
  readonly guess: number
  /**
   * How long the endpoint wants no calls from now on, in ms; 0 where it said nothing. Not a time of
   * Redis, whose clock may have been set back since it answered last.
   */
  readonly pauseMs: number
  /** The estimate, of the worker that makes it. */
  readonly estimate?: { readonly perSecond: number; readonly level: number; readonly isCut: boolean } | undefined
  /** What became of POSTs. */
  readonly events: readonly PostEvent[]
}

/** What became of a POST. */
export interface PostEvent {
  /** When it ended. */
  readonly at: number
  readonly tookMs: number
  /** Calls that were answered. */
  readonly calls: number
  readonly isThrottled: boolean
  /** The pause that the endpoint asked for, in ms. */
  readonly pauseMs: number
}

export interface Grant {
  readonly now: number
  /** Calls that may go from `start` on; with none, when to ask again. */
  readonly granted: number
  readonly start: number
  /** This worker makes the estimate. */
  readonly isLeader: boolean
  /** Calls per second of all workers. */
  readonly perSecond: number
  /** The rate at which the endpoint refused last; 0 if never. */
  readonly level: number
  /** When the rate was cut last; 0 if never. */
  readonly since: number
  /** Workers that have asked lately. */
  readonly active: number
  /** For the estimate: how long the rate held calls back, and how long nothing waited, in ms. */
  readonly heldMs: number
  readonly idleMs: number
  readonly events: readonly PostEvent[]
}

/** The keys of an endpoint's budget, in one slot of a cluster, and the channel of its bell. */
export type BudgetKeys = readonly [budget: string, events: string, workers: string, bell: string]

export function budgetKeys(prefix: string, fingerprint: string): BudgetKeys {
  const base = `${prefix}:{budget:${fingerprint}}`
  return [base, `${base}:events`, `${base}:workers`, `${base}:bell`]
}

const NAME = 'hexlineBudget'

/** Asks Redis, in one round trip. */
export async function askBudget(redis: Redis, keys: BudgetKeys, question: Question): Promise<Grant> {
  const { me, wanted, leaseMs, cost, unitsPerSecond, spare, guess, pauseMs, estimate, events } = question
  const own = redis as Redis & { [NAME]?: (...args: (string | number)[]) => Promise<string[]> }
  if (own[NAME] === undefined) redis.defineCommand(NAME, { numberOfKeys: 4, lua: SCRIPT })
  const published = estimate === undefined ? ['', '', '0'] : [estimate.perSecond, estimate.level, estimate.isCut ? '1' : '0']
  const told = events.map(({ at, tookMs, calls, isThrottled, pauseMs }) => JSON.stringify([at, tookMs, calls, isThrottled ? 1 : 0, pauseMs]))
  const refusedAt = Math.max(0, ...events.map(({ at, tookMs, isThrottled }) => (isThrottled ? at - tookMs : 0)))
  const ask = own[NAME] as NonNullable<(typeof own)[typeof NAME]>
  const reply = await ask.call(redis, ...keys, me, wanted, cost, unitsPerSecond, guess, pauseMs, ...published, leaseMs, refusedAt, spare, ...told)
  const [now, granted, start, isLeader, perSecond, level, since, active, heldMs, idleMs] = reply.slice(0, 10).map(Number) as [
    ...[number, number, number, number, number],
    ...[number, number, number, number, number],
  ]
  return { now, granted, start, isLeader: isLeader === 1, perSecond, level, since, active, heldMs, idleMs, events: reply.slice(10).map(eventFrom) }
}

function eventFrom(text: string): PostEvent {
  const [at, tookMs, calls, throttled, pauseMs] = JSON.parse(text) as [number, number, number, number, number]
  return { at, tookMs, calls, isThrottled: throttled === 1, pauseMs }
}
