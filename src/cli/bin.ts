#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { main } from './main.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
const { argv, env, stdout, stderr } = process
const exitCode = await main(version, { args: argv.slice(2), env, stdout, stderr })
if (exitCode !== 0) process.exitCode = exitCode
