#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { exitCodeOf } from './output/failure.ts'
import { messagesFor } from './output/messages.ts'
import { createProgram } from './program.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
const messages = messagesFor({ json: process.argv.includes('--json') }, process.stderr)

try {
  await createProgram(version, messages).parseAsync()
} catch (error) {
  messages.fail(error)
  process.exitCode = exitCodeOf(error)
}
