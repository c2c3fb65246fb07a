import './bundled.ts'

// By its file: in place of the package, Bun has an `undici` of its own, whose `Pool` cannot dispatch.
export { Agent, Dispatcher, getGlobalDispatcher, Pool } from 'undici/index.js'
