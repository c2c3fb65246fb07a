import './bundled.ts'

// Imported by file name, since Bun replaces the package with its own `undici`, whose `Pool` cannot
// dispatch.
export { Agent, Dispatcher, getGlobalDispatcher, Pool } from 'undici/index.js'
