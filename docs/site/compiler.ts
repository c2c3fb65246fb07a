import { createRequire } from 'node:module'
import type ts from '../../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'

const require = createRequire(createRequire(import.meta.url).resolve('@arethetypeswrong/core'))

/** The TypeScript that are-the-types-wrong brings: TypeScript 7 has no API in JavaScript. */
export const compiler: typeof ts = require('typescript')
