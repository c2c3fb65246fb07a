import type { Redis } from 'ioredis'
import { askBudget, budgetKeys, type Grant, type Question, voidUntil } from '../../adapters/bullmq/budget-script.ts'
import { SharedPacer } from '../../adapters/bullmq/shared-pacer.ts'
import type { Call } from '../../src/rpc/call.ts'
import type { Budget } from '../../src/rpc/limits/rate/given-budget.ts'
import type { Clock, Timer } from '../../src/wait/clock.ts'

/*
 * Workers that share a budget, in virtual time: real pacers and the real script in a real Redis,
 * which is told the time. Histories are the same for the same seed, on any machine.
 */

const TIME = 'virtual:time'
const BELL = 'virtual:bell'
/** How long a worker waits for Redis, in ms, as `shareBudget` does. */
const LOST_MS = 1000
/** The time of Redis when a world begins, in ms. */
const EPOCH = 1_700_000_000_000

/** POSTs that a worker has in flight at most. */
const SLOTS = 16
const MOST_CALLS = 100
/** Calls that wait at any time. */
const WAITING = 1000

export interface Post {
  readonly at: number
  readonly worker: number
  readonly methods: readonly string[]
}

/** What a server says to a POST: how many of its calls are throttled, and for how long. */
export type Throttle = (post: Post) => { readonly throttled: number; readonly pauseMs: number } | undefined

export interface WorkerOptions {
  readonly given?: Budget
  /** Time to Redis, one way, in ms. */
  readonly redisMs?: number
  /** Time of a POST, in ms. */
  readonly replyMs?: number
}

interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => Promise<void> | void
}

/** All that happens, in the order of time. */
export class BudgetWorld {
  readonly posts: Post[] = []
  readonly workers: SimulatedWorker[] = []
  readonly keys = budgetKeys('hexline', 'node')
  readonly #redis: Redis
  readonly #told: Redis
  readonly #events: Event[] = []
  #order = 0
  now = 0
  /** How far the clock of Redis is from where it was at first, in ms. */
  redisSkew = 0
  /** Redis answers nobody; what it was asked is lost, at once or after a while. */
  isRedisLost = false
  throttle: Throttle = () => undefined

  constructor(redis: Redis) {
    this.#redis = redis
    this.#told = toldTheTime(redis)
  }

  add(options: WorkerOptions = {}): SimulatedWorker {
    const worker = new SimulatedWorker(this, this.workers.length, options)
    this.workers.push(worker)
    return worker
  }

  at(at: number, run: Event['run']): Event {
    const event = { at: Math.max(at, this.now), order: this.#order++, run }
    this.#events.push(event)
    return event
  }

  remove(event: object): void {
    const place = this.#events.indexOf(event as Event)
    if (place >= 0) this.#events.splice(place, 1)
  }

  /** Runs until a time. */
  async until(end: number): Promise<void> {
    for (;;) {
      let next: Event | undefined
      for (const event of this.#events) if (next === undefined || event.at < next.at || (event.at === next.at && event.order < next.order)) next = event
      if (next === undefined || next.at > end) break
      this.remove(next)
      this.now = Math.max(this.now, next.at)
      await next.run()
      // What follows from it in this turn.
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.now = end
  }

  async ask(question: Question): Promise<Grant> {
    const ms = EPOCH + this.now + this.redisSkew
    await this.#redis.mset(TIME, `${Math.floor(ms / 1000)} ${Math.round((ms % 1000) * 1000)}`)
    const grant = await askBudget(this.#told, this.keys, question)
    const bells = (await this.#redis.lpop(BELL, 100)) ?? []
    for (const bell of bells) for (const worker of this.workers) worker.ring(bell)
    return grant
  }

  async loseData(): Promise<void> {
    await this.#redis.flushall()
  }
}

/** A worker whose calls wait all the time, as the queue of an endpoint does it. */
export class SimulatedWorker {
  readonly pacer: SharedPacer
  readonly #world: BudgetWorld
  readonly #index: number
  readonly #redisMs: number
  readonly #replyMs: number
  readonly #clock: Clock
  #mix: readonly string[] = []
  /** Calls that were throttled: they go first. */
  readonly #back: string[] = []
  #taken = 0
  #alarm: Timer | undefined
  #inFlight = 0
  #isDead = false
  #stoppedUntil = 0
  /** The connection to Redis is cut. */
  isCut = false
  sent = 0
  asked = 0

  constructor(world: BudgetWorld, index: number, { given, redisMs = 0.5, replyMs = 50 }: WorkerOptions) {
    this.#world = world
    this.#index = index
    this.#redisMs = redisMs
    this.#replyMs = replyMs
    // Each process has a clock of its own.
    const zero = 1 + 1e6 * index
    this.#clock = {
      now: () => world.now + zero,
      wakeAt: (at, wake) => {
        const event = world.at(Math.max(at - zero, world.now + 1), () => this.#run(wake))
        return Object.assign(event, { ref: () => {}, unref: () => {} })
      },
      cancel: (timer) => world.remove(timer),
    }
    this.pacer = new SharedPacer({ fingerprint: 'node', clock: this.#clock, given, wake: () => this.#offer() }, (question) => this.#ask(question))
  }

  /** Calls of these methods wait from now on, in turns, without end. */
  waitFor(mix: readonly string[]): void {
    this.#mix = mix
    this.#run(() => this.#offer())
  }

  kill(): void {
    this.#isDead = true
  }

  stop(ms: number): void {
    this.#stoppedUntil = this.#world.now + ms
  }

  ring(message: string): void {
    if (this.isCut) return
    this.#world.at(this.#world.now + this.#redisMs, () =>
      this.#run(() => {
        const until = voidUntil(message)
        if (until === undefined) this.pacer.refused()
        else this.pacer.void(until)
      }),
    )
  }

  /** Runs in this process: never once it was killed, and later while it is stopped. */
  #run(run: () => void): void {
    if (this.#isDead) return
    if (this.#world.now >= this.#stoppedUntil) run()
    else this.#world.at(this.#stoppedUntil, () => this.#run(run))
  }

  #ask(question: Question): Promise<Grant> {
    this.asked++
    return new Promise((resolve, reject) => {
      const lose = (ms: number) => this.#world.at(this.#world.now + ms, () => this.#run(() => reject(new Error('lost'))))
      if (this.isCut || this.#world.isRedisLost) {
        lose(this.asked % 2 === 0 ? 1 : LOST_MS)
        return
      }
      lose(LOST_MS)
      // A process that was stopped sees that it waited for too long before it reads the answer.
      const lostAt = this.#world.now + LOST_MS
      this.#world.at(this.#world.now + this.#redisMs, async () => {
        if (this.#world.isRedisLost) return
        const grant = await this.#world.ask(question)
        // The connection may be cut after the script.
        if (!this.isCut) this.#world.at(this.#world.now + this.#redisMs, () => this.#run(() => this.#world.now < lostAt && resolve(grant)))
      })
    })
  }

  #offer(): void {
    if (this.#alarm !== undefined) this.#clock.cancel(this.#alarm)
    this.#alarm = undefined
    while (this.#mix.length > 0 && this.#inFlight < SLOTS) {
      const now = this.#clock.now()
      const line = { size: WAITING, first: callOf(this.#next) }
      const waitMs = this.pacer.msUntil(line, MOST_CALLS, now)
      if (waitMs > 0) {
        this.#alarm = this.#clock.wakeAt(now + waitMs, () => this.#offer())
        this.pacer.heldBack(line, now)
        return
      }
      this.#post(now)
    }
  }

  get #next(): string {
    return this.#back[0] ?? (this.#mix[this.#taken % this.#mix.length] as string)
  }

  #post(now: number): void {
    const room = this.pacer.room(MOST_CALLS, now)
    const fits = this.pacer.fitting(now)
    const calls: Call[] = []
    while (calls.length < room) {
      const call = callOf(this.#next)
      if (fits?.(call) === false) break
      calls.push(call)
      if (this.#back.shift() === undefined) this.#taken++
    }
    if (calls.length === 0) throw new Error('a POST of no calls')
    this.pacer.started(calls, now)
    this.#inFlight++
    const post = { at: this.#world.now, worker: this.#index, methods: calls.map(({ method }) => method) }
    this.#world.posts.push(post)
    this.sent += calls.length
    const throttling = this.#world.throttle(post)
    this.#world.at(this.#world.now + this.#replyMs, () => this.#run(() => this.#finish(post, now, throttling)))
  }

  #finish({ methods }: Post, sentAt: number, throttling: ReturnType<Throttle>): void {
    this.#inFlight--
    const now = this.#clock.now()
    const tookMs = now - sentAt
    const throttled = throttling?.throttled ?? 0
    if (throttled < methods.length) this.pacer.answered(methods.length - throttled, tookMs, SLOTS, throttled === 0, now)
    if (throttling !== undefined) {
      this.#back.push(...methods.slice(methods.length - throttled))
      this.pacer.throttled({ sentAt, tookMs, calls: methods.length, part: throttled / methods.length, pauseMs: throttling.pauseMs }, now)
      if (throttling.pauseMs > 0) {
        this.#world.at(this.#world.now + throttling.pauseMs, () => this.#run(() => this.#offer()))
        return
      }
    }
    this.#offer()
  }
}

function callOf(method: string): Call {
  return { method } as Call
}

/** The script asks for the time, and rings, where the world sees it. */
function toldTheTime(redis: Redis): Redis {
  const own = {
    defineCommand(name: string, { numberOfKeys, lua }: { numberOfKeys: number; lua: string }) {
      const told = lua
        .replace("redis.call('TIME')", `{string.match(redis.call('GET', '${TIME}'), '(%d+) (%d+)')}`)
        .replaceAll("redis.call('PUBLISH', KEYS[4],", `redis.call('RPUSH', '${BELL}',`)
      redis.defineCommand(name, { numberOfKeys, lua: told })
      Object.assign(own, { [name]: (...args: never[]) => (redis as never as Record<string, (...args: never[]) => unknown>)[name]?.(...args) })
    },
  }
  return own as never as Redis
}

/** The most units of any window of this length, in ms. */
export function mostWithin(posts: readonly Post[], windowMs: number, costOf: (method: string) => number, from = 0): number {
  let most = 0
  let sum = 0
  let first = 0
  const costs = posts.map(({ methods }) => methods.reduce((total, method) => total + costOf(method), 0))
  for (let last = 0; last < posts.length; last++) {
    sum += costs[last] as number
    while ((posts[last] as Post).at - (posts[first] as Post).at >= windowMs) sum -= costs[first++] as number
    if ((posts[first] as Post).at >= from) most = Math.max(most, sum)
  }
  return most
}
