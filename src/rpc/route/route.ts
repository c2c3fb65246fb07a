import { type ErrorKind, HexlineError, IntegrityError, RpcError } from '../../errors.ts'
import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import { type Call, type Reply, replyOf, type Send } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { copyError } from '../copy-error.ts'
import { routeEvents } from '../events.ts'
import { isThrottled, mayBeHeld, mayHaveRun, mayRepeat } from '../failure-kinds.ts'
import type { Pin } from '../pin.ts'
import { GIVEN_UP, MOVED } from '../queue/queue.ts'
import { Choice } from './choice.ts'
import { Company, Member, type MemberOptions } from './endpoint.ts'
import { Filters } from './filters.ts'
import { Hedge, type HedgeOptions } from './hedge.ts'
import type { Protocol, Trait } from './protocol.ts'
import { present } from './require-result.ts'

/** How often it is looked, while there are calls, whether some wait in vain; and which do: those that could not start for so long. In ms. */
const LOOK_MS = 250
const LATE_MS = 1_000

export interface RouteOptions {
  readonly endpoints: readonly [MemberOptions, ...MemberOptions[]]
  readonly protocol: Protocol
  readonly waiting: Waiting
  readonly hedge?: HedgeOptions | undefined
}

/**
 * Picks an endpoint for each call (choice.ts), by what was learnt from the calls before it: how it does (health.ts), how far its head is
 * behind (head.ts), whether it has the method and is on the right chain (member.ts). A call that an endpoint would not start goes to the next one
 * at once, and so does a read that waits for an endpoint which has never answered. All else that fails goes back to the retry layer, which lists in `tried` the
 * endpoints that have failed it. A null for a call that requires a result means that the node lags, and is a failure. With one endpoint there is nothing to pick, and nothing is paid.
 */
export function route(options: RouteOptions): Send {
  const { endpoints, hedge } = options
  const [first, ...others] = endpoints
  if (others.length > 0 || hedge !== undefined) {
    const router = new Router(options)
    return (call) => router.send(call)
  }
  const only = first.queue
  return (call) => (call.required ? only.send(call).then((reply) => present(reply, call, only.name)) : only.send(call))
}

class Router {
  readonly #protocol: Protocol
  readonly #members: readonly Member[]
  readonly #choice: Choice
  readonly #filters = new Filters<Member>()
  readonly #hedge: Hedge | undefined
  readonly #waiting: Waiting
  readonly #look: Alarm = { at: 0, place: -1, ring: () => this.#lookAfter() }
  /** Calls that have not ended. */
  #calls = 0

  constructor({ endpoints, protocol, hedge, waiting }: RouteOptions) {
    const company = new Company(protocol, endpoints.find(({ chainId }) => chainId !== undefined)?.chainId)
    this.#protocol = protocol
    this.#members = endpoints.map((each) => new Member(each, company, endpoints.length === 1, waiting.clock))
    this.#choice = new Choice(company, this.#members)
    this.#hedge = hedge && new Hedge(hedge, waiting)
    this.#waiting = waiting
  }

  async send(call: Call): Promise<Reply> {
    const trait = this.#protocol.traitOf(call.method)
    if (this.#calls++ === 0) this.#lookSoon()
    try {
      return await (trait?.filter !== undefined ? this.#sendToFilter(call, trait) : this.#send(call, trait))
    } finally {
      if (--this.#calls === 0) this.#waiting.alarms.unset(this.#look)
    }
  }

  async #send(call: Call, trait: Trait | undefined, onAnswer?: (member: Member) => void): Promise<Reply> {
    const passed: Member[] = []
    let refusal: CallFailure | undefined
    let why: ErrorKind | undefined
    let left: string | undefined
    let isUnreached = false
    let posts = 0
    const holder = call.heldBy === undefined || trait?.mayRunTwice ? undefined : this.#members.find(({ name }) => name === call.heldBy)
    for (;;) {
      const now = this.#waiting.clock.now()
      this.#askHeads(now)
      const member = holder ?? this.#choice.best(call, trait, passed, now)
      if (member === undefined) {
        // One that could not be reached may be back long before the end of another one's pause.
        if (isUnreached && refusal?.error.retryAfterMs !== undefined) Object.assign(refusal.error, { retryAfterMs: 0 })
        throw this.#told(refusal ?? this.#allWrong(call), call, passed, posts)
      }
      const from = left ?? call.pin?.endpoint ?? call.tried.at(-1)
      try {
        if (call.pin !== undefined) await move(call.pin, member, call)
        if (from !== undefined && from !== member.name && routeEvents.hasSubscribers) {
          routeEvents.publish({ change: 'moved', method: call.method, endpoint: from, to: member.name, kind: why })
        }
        const reply = await this.#ask(member, holder === undefined ? this.#withoutWait(call, member, passed, now) : { ...call, isBound: true }, trait)
        onAnswer?.(member)
        return reply
      } catch (failure) {
        const isMoved = failure === MOVED || failure === GIVEN_UP
        if (!isMoved && !(failure instanceof CallFailure)) throw failure
        left = member.name
        if (isMoved) {
          if (failure === GIVEN_UP) posts++
          // Those that would not start it before may do so by now.
          passed.length = 0
          continue
        }
        const { error } = failure
        posts += failure.posts
        passed.push(member)
        why = error.kind
        const isFinal = error.kind === 'unsupported' && this.#members.every((each) => passed.includes(each) || each.lacks(call.method, now))
        const mayGoOn = goesOn(failure, call, member, trait) || (call.safe && mayRepeat(error) === true && this.#hasSlow(passed))
        if (isFinal || holder !== undefined || !mayGoOn) throw this.#told(failure, call, passed, posts)
        if (refusal === undefined || hopeOf(error) < hopeOf(refusal.error)) refusal = failure
        if (error.kind === 'network') isUnreached = true
      }
    }
  }

  /** Another one was given up on too soon, perhaps: where those that answer fail, its answer is worth waiting for. */
  #hasSlow(passed: readonly Member[]): boolean {
    return this.#members.some((each) => each.health.mayBeSlow && each.wrong === undefined && !passed.includes(each))
  }

  /** The call, not to wait in line for an endpoint that is paused or gone, as long as another one can take it. */
  #withoutWait(call: Call, member: Member, passed: readonly Member[], now: number): Call {
    const whilePaused = this.#choice.hasFree(passed, member, now) ? 'fail' : call.whilePaused
    if (whilePaused === call.whilePaused && passed.length === 0) return call
    return { ...call, whilePaused, tried: passed.length === 0 ? call.tried : [...call.tried, ...passed.map(({ name }) => name)] }
  }

  /** Where a read takes long, a copy of it goes to another endpoint; to the same one, when no other can take it. */
  #ask(member: Member, call: Call, trait: Trait | undefined): Promise<Reply> {
    if (this.#hedge === undefined) return member.ask(call, trait)
    const again: Send = (copy) => {
      const now = this.#waiting.clock.now()
      const isFree = copy.pin === undefined && this.#choice.hasFree([], member, now)
      return ((isFree ? this.#choice.best(copy, trait, [member], now) : undefined) ?? member).ask(copy, trait)
    }
    return this.#hedge.send(call, `${member.name} ${call.method}`, (first) => member.ask(first, trait), again)
  }

  /** A filter is known to the endpoint that made it, and to no other. */
  async #sendToFilter(call: Call, trait: Trait): Promise<Reply> {
    if (trait.filter === 'makes') {
      let maker = this.#members[0] as Member
      const reply = await this.#send(call, trait, (member) => {
        maker = member
      })
      const made = reply.take()
      if (!(made instanceof Uint8Array)) return replyOf(this.#filters.add(maker, made), reply.bytes)
      return replyOf(Buffer.from(JSON.stringify(this.#filters.add(maker, JSON.parse(Buffer.from(made).toString())))), reply.bytes)
    }
    const known = this.#filters.find(call.params[0])
    if (known === undefined) return this.#send(call, trait)
    const reply = await known.endpoint.ask({ ...call, params: [known.id, ...call.params.slice(1)], isBound: true }, trait)
    if (trait.filter === 'ends') this.#filters.drop(call.params[0])
    return reply
  }

  /** Asks those that have not been heard of for a while, and those that are left out and may be back. Only while there are calls. */
  #askHeads(now: number): void {
    if (this.#members.length === 1) return
    for (const member of this.#members) {
      const { health, head, queue } = member
      if (now < (health.isOut ? health.dueAt : head.askAt) || member.isAsked || member.wrong !== undefined || queue.pausedUntil > now) continue
      void member.askHead()
    }
  }

  #lookSoon(): void {
    if (this.#members.length === 1) return
    this.#look.at = this.#waiting.clock.now() + LOOK_MS
    this.#waiting.alarms.set(this.#look)
  }

  /** Calls that came when no endpoint had time stand in the lines where they came: when one has time again it gets those that stand too far behind. */
  #lookAfter(): void {
    this.#lookSoon()
    const now = this.#waiting.clock.now()
    this.#askHeads(now)
    const canTake = ({ wrong, health, queue }: Member) => wrong === undefined && !health.isOut && queue.pausedUntil <= now
    // Others answer: what waits for an endpoint that has said nothing yet need not wait for its timeout.
    if (this.#members.some((each) => canTake(each) && each.health.hasAnswered)) {
      for (const each of this.#members) if (each.health.isMute(now) && !each.health.isOut) each.giveUp(now)
    }
    if (!this.#members.some((each) => canTake(each) && each.queue.size === 0)) return
    for (const { queue } of this.#members) {
      const late = queue.late(LATE_MS)
      if (late > 0) queue.handOver(late)
    }
  }

  #allWrong(call: Call): CallFailure {
    const { wrong, name } = this.#members[0] as Member
    return new CallFailure(copyError(wrong as HexlineError, call.method), 0, name)
  }

  /** The failure for the caller; its cause says what the other endpoints did with the same call. */
  #told({ error, endpoint }: CallFailure, call: Call, passed: readonly Member[], posts: number): CallFailure {
    const failure = new CallFailure(error, posts, endpoint)
    const failed = (each: Member) => passed.includes(each) || call.tried.includes(each.name) || each.wrong !== undefined
    const others = this.#members.filter((each) => each.name !== endpoint && failed(each))
    const said = others.flatMap((each) => each.said ?? [])
    if (said.length === 0) return failure
    const cause = new HexlineError(`other endpoints failed, too: ${said.join('; ')}`, error.kind, { method: call.method, cause: error.cause })
    Object.defineProperty(error, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
    return failure
  }
}

/** May the call go to another endpoint at once? Only when it has not run here, or is answered differently there. */
function goesOn({ error, wasSent }: CallFailure, call: Call, member: Member, trait: Trait | undefined): boolean {
  if (member.wrong !== undefined) return true
  if (!call.safe && !trait?.mayRunTwice && mayBeHeld(error, wasSent)) return false
  if (mayRepeat(error) === 'elsewhere') return call.safe || !mayHaveRun(error)
  if (isThrottled(error)) return call.safe || !mayHaveRun(error)
  if (error.kind === 'network') return !mayHaveRun(error)
  if (error.kind === 'unsupported') return call.safe || (error instanceof RpcError && error.code === -32601 && (error.status ?? 200) < 500)
  return error.kind === 'lagging' && !wasSent
}

/** How long until the call may do better, in ms: of several refusals the least bad is told. Being throttled passes by itself. */
function hopeOf(failure: HexlineError): number {
  if (isThrottled(failure)) return failure.retryAfterMs ?? 0
  return mayRepeat(failure) === true ? 1e12 : Number.POSITIVE_INFINITY
}

/** Calls that are pinned to an endpoint go on at another only when that one has the newest block that they have seen. */
async function move(pin: Pin, member: Member, call: Call): Promise<void> {
  const { name, head } = member
  if (pin.endpoint !== undefined && pin.endpoint !== name && head.number < pin.newest) {
    await member.askHead(call.signal, call.deadline)
    call.signal?.throwIfAborted()
    if (head.number < pin.newest) {
      const has = head.number < 0 ? 'has not told its newest block' : `is at block ${head.number}`
      const message = `${name}: ${has}, and calls pinned to ${pin.endpoint} have seen block ${pin.newest}: they cannot go on here yet`
      member.said = message
      throw new CallFailure(new IntegrityError(message, { kind: 'lagging', method: call.method, endpoint: name }), 0, name)
    }
  }
  pin.endpoint = name
}
