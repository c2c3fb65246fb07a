/*
 * undici is CommonJS and requires Node.js's own modules. An ES module made by esbuild has no
 * `require` for them, and undici would fail with `Dynamic require of "node:assert" is not
 * supported`. This module runs before undici and says how to fix that. Elsewhere it does nothing.
 */

if (typeof require === 'function') {
  try {
    require('node:assert')
  } catch (cause) {
    const message =
      'hexline cannot run in this bundle, an ES module without `require`: bundle with --format=cjs or --packages=external, or add --banner:js="import { createRequire as forRequire } from \'node:module\'; const require = forRequire(import.meta.url);"'
    throw new Error(message, { cause })
  }
}

export {}
