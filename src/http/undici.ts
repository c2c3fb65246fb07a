import './bundled.ts'
import type * as undici from 'undici'
// @ts-expect-error: undici has types for its index alone.
import agent from 'undici/lib/dispatcher/agent.js'
// @ts-expect-error
import dispatcher from 'undici/lib/dispatcher/dispatcher.js'
// @ts-expect-error
import pool from 'undici/lib/dispatcher/pool.js'
// @ts-expect-error
import global from 'undici/lib/global.js'

// Not from undici's index, which also loads fetch, caches, mocks and more, and takes three times as
// long. Nor would Bun take that: it replaces the package with its own `undici`, whose `Pool` cannot
// dispatch.
export const Agent: typeof undici.Agent = agent
export type Agent = undici.Agent
export const Dispatcher: typeof undici.Dispatcher = dispatcher
export type Dispatcher = undici.Dispatcher
export const Pool: typeof undici.Pool = pool
export type Pool = undici.Pool
export const getGlobalDispatcher: typeof undici.getGlobalDispatcher = global.getGlobalDispatcher
