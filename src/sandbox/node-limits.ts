import type { Client } from '../client/client.ts'
import { type BlockWindow, blockWindow, type WindowLimits } from './block-window.ts'
import type { CallPlan } from './call-plan.ts'
import { planHistory } from './history-limits.ts'
import type { Forward, RpcBody } from './json-rpc.ts'
import { type LogLimits, planLogs } from './log-limits.ts'
import { json, type Reply } from './reply.ts'

/** How the node of the sandbox is less than its upstream node. */
export interface NodeLimits extends LogLimits, WindowLimits {
  /** Most calls of a batch. */
  readonly maxBatch: number
}

/** A call of a batch that expects a response. */
interface ReceivedCall {
  readonly id: unknown
  readonly method: string
  readonly params?: readonly unknown[]
}

/**
 * A node with limits, over one without. `client` asks the same node. A POST that no limit concerns
 * passes byte for byte, and so does its reply.
 */
export function limitNode(forward: Forward, limits: NodeLimits, client: Client): Forward {
  return {
    async send(body, signal) {
      const { value } = body
      if (Array.isArray(value) && value.length > limits.maxBatch) return batchTooLarge(value)
      const calls: unknown[] = Array.isArray(value) ? value : [value]
      const plans = await plansOf(calls, limits, client.with({ attempts: 1, signal }))
      if (plans.every((plan) => plan === undefined)) return await forward.send(body, signal)
      return await answer(forward, body, calls, plans, signal)
    },
    close: forward.close,
  }
}

/** Calls of one POST see the same blocks. */
function plansOf(calls: readonly unknown[], limits: NodeLimits, client: Client): Promise<(CallPlan | undefined)[]> {
  let found: Promise<BlockWindow> | undefined
  const window = () => {
    found ??= blockWindow(client, limits)
    return found
  }
  return Promise.all(
    calls.map(async (call) => {
      if (!isCall(call)) return undefined
      const { method, params = [] } = call
      return method === 'eth_getLogs' ? await planLogs(params, limits, window) : await planHistory(method, params, limits, window)
    }),
  )
}

function isCall(value: unknown): value is ReceivedCall {
  const { id, method, params } = (value ?? {}) as { id?: unknown; method?: unknown; params?: unknown }
  return id !== undefined && typeof method === 'string' && (params === undefined || Array.isArray(params))
}

/**
 * Sends the calls that have no answer yet, in one POST. Their ids are replaced by their places,
 * since ids may repeat.
 */
async function answer(
  forward: Forward,
  { value }: RpcBody,
  calls: readonly unknown[],
  plans: readonly (CallPlan | undefined)[],
  signal: AbortSignal,
): Promise<Reply> {
  const responses: unknown[] = plans.map((plan, i) => plan?.answer && responseTo(calls[i], plan.answer))
  const passed = calls.flatMap((call, i) => {
    if (responses[i] !== undefined) return []
    const { params } = plans[i] ?? {}
    return [isCall(call) ? { ...call, id: i, ...(params !== undefined && { params }) } : call]
  })
  if (passed.length > 0) {
    const parsed = Array.isArray(value) ? passed : passed[0]
    const reply = await forward.send({ value: parsed, text: JSON.stringify(parsed), calls: passed.length }, signal)
    const received = parse(reply)
    if (received === undefined) return reply
    for (const response of [received].flat()) {
      const { id, result } = (response ?? {}) as { id?: unknown; result?: unknown }
      const call = calls[id as number]
      // Responses to anything but a call.
      if (typeof id !== 'number' || !isCall(call)) responses.push(response)
      else responses[id] = result === undefined ? { ...(response as object), id: call.id } : responseTo(call, plans[id]?.read?.(result) ?? { result })
    }
  }
  const all = responses.filter((response) => response !== undefined)
  return json(200, Array.isArray(value) ? all : all[0])
}

function responseTo(call: unknown, answer: object): object {
  return { jsonrpc: '2.0', id: (call as ReceivedCall).id, ...answer }
}

/** The JSON of a reply with status 200; undefined for any other reply, which is the node's own. */
function parse({ status, body }: Reply): unknown {
  if (status !== 200) return undefined
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** As geth refuses it: one response, with the id of the first call. */
function batchTooLarge(calls: readonly unknown[]): Reply {
  const id = calls.find(isCall)?.id ?? null
  return json(200, [{ jsonrpc: '2.0', id, error: { code: -32600, message: 'batch too large' } }])
}
