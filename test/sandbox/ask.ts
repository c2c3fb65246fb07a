import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parse } from 'yaml'
import type { Sandbox } from '../../src/sandbox/index.ts'

interface Document {
  readonly paths: Readonly<Record<string, { readonly get: { readonly responses: Readonly<Record<string, { readonly $ref?: string }>> } }>>
}

/** The REST groups in machine form. */
export const openapi: Document = parse(readFileSync(new URL('../../docs/api/openapi.yaml', import.meta.url), 'utf8'))

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema({ $id: 'openapi', ...openapi })
const compiled = new Map<string, ValidateFunction>()

/**
 * The schema of an operation's reply, by the template of its path. Falls back to the one for any
 * other status.
 */
export function validatorFor(template: string, status: number): ValidateFunction {
  const pointer = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')
  const { responses } = (openapi.paths[template] as Document['paths'][string]).get
  const known = responses[status] === undefined ? 'default' : String(status)
  const place = responses[known]?.$ref ?? `#/paths/${pointer(template)}/get/responses/${known}`
  const ref = `openapi${place}/content/application~1json/schema`
  const validate = compiled.get(ref) ?? ajv.compile({ $ref: ref })
  compiled.set(ref, validate)
  return validate
}

function templateOf(path: string): string | undefined {
  return Object.keys(openapi.paths).find((template) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`).test(path))
}

// biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of a body
export type Body = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

/**
 * Sends a request to the sandbox, with path and query as given. Every reply to a documented
 * operation, good or bad, is checked against its schema in the OpenAPI document.
 */
export async function ask(
  sandbox: Sandbox,
  path: string,
  { key = sandbox.apiKey, method = 'GET' }: { key?: string | null; method?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${sandbox.url}/${path}`, { method, headers: { accept: 'application/json', ...(key !== null && { 'x-api-key': key }) } })
  const body = await response.json()
  const template = templateOf(`/${path.split('?')[0]}`)
  if (template !== undefined && method === 'GET') {
    const validate = validatorFor(template, response.status)
    if (!validate(body)) throw new Error(`${path} answered ${response.status} beside its schema: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`)
  }
  return { status: response.status, headers: response.headers, body }
}

/** All pages of a list, one after the other; `between` runs before each next one. */
export async function pages(sandbox: Sandbox, path: string, between: (page: number) => unknown = () => {}): Promise<Body[]> {
  const found: Body[] = []
  const seen = new Set<string>()
  for (let cursor = ''; ; ) {
    const { status, body } = await ask(sandbox, cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`)
    found.push(body)
    if (!body.cursor) return found
    if (seen.has(body.cursor)) throw new Error(`${path} repeats a cursor`)
    seen.add(body.cursor)
    cursor = body.cursor
    await between(found.length)
  }
}
