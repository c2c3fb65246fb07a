import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { extname, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/* The site as `npm run docs` builds it, and as a browser shows it. */

const root = fileURLToPath(new URL('../../', import.meta.url))
const site = `${root}docs/.vitepress/dist/`

const chromium = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap((name) => (process.env.PATH ?? '').split(':').map((folder) => `${folder}/${name}`))
  .find(existsSync)
const noBrowser = 'SKIPPED: there is no Chromium in PATH'

/** What the tests use of playwright-core, which is installed with the site. */
interface Page {
  goto(url: string): Promise<unknown>
  waitForLoadState(state: 'networkidle'): Promise<void>
  evaluate<T>(script: string): Promise<T>
  on(event: 'request', listener: (request: { url(): string }) => void): void
  on(event: 'pageerror', listener: (error: Error) => void): void
  click(selector: string): Promise<void>
  fill(selector: string, text: string): Promise<void>
  waitForSelector(selector: string): Promise<unknown>
  setViewportSize(size: { width: number; height: number }): Promise<void>
  close(): Promise<void>
}
interface Browser {
  newPage(options: { viewport: { width: number; height: number } }): Promise<Page>
  close(): Promise<void>
}

let pages: string[]
beforeAll(async () => {
  await promisify(execFile)('npm', ['run', 'docs'], { cwd: root, maxBuffer: 64 * 2 ** 20 })
  pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html') && name !== '404.html')
})

const read = (page: string) => readFileSync(site + page, 'utf8')

it('has each page, and the reference of each entry point', () => {
  for (const page of ['index', 'getting-started', 'logs', 'methods', 'reference/hexline', 'reference/bulk', 'reference/viem'])
    expect(pages).toContain(`${page}.html`)
  expect(read('reference/bulk.html')).toContain('id="getblocks"')
  expect(read('reference/bulk.html')).toMatch(/maxBytes[\s\S]*onProgress/)
})

it('has no dead link and no dead anchor', () => {
  const ids = new Map(pages.map((page) => [page, new Set([...read(page).matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))]))
  const dead: string[] = []
  let links = 0
  for (const page of pages)
    for (const [, attribute, link = ''] of read(page).matchAll(/ (href|src)="([^"]*)"/g)) {
      if (/^(?:https?|data|mailto):/.test(link)) continue
      links++
      const [path = '', anchor] = link.replaceAll('&amp;', '&').split('#')
      const target = path === '' ? page : path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(page), decodeURI(path))
      const file = target === '' || target.endsWith('/') ? `${target}index.html` : target
      const found = [file, `${file}.html`].find((each) => existsSync(site + each))
      if (found === undefined || (anchor !== undefined && anchor !== '' && ids.get(found)?.has(decodeURI(anchor)) === false))
        dead.push(`${page}: ${attribute} ${link}`)
    }
  expect(dead).toEqual([])
  expect(links).toBeGreaterThan(1000)
})

it('is made of its own files: no fonts, scripts or images of other hosts', () => {
  for (const page of pages) expect(read(page)).not.toMatch(/<(?:script|img|link)[^>]* (?:src|href)="(?:https?:)?\/\//)
  for (const name of readdirSync(`${site}assets`, { encoding: 'utf8' }).filter((each) => each.endsWith('.css')))
    expect(readFileSync(`${site}assets/${name}`, 'utf8')).not.toMatch(/url\(["']?(?:https?:)?\/\//)
})

describe.skipIf(chromium === undefined)(`in a browser${chromium === undefined ? ` (${noBrowser})` : ''}`, () => {
  let server: Server
  let base: string
  let browser: Browser

  beforeAll(async () => {
    const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
    server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname).slice(1)
      const file = ['', 'index.html', '.html'].map((end) => site + path + end).find((each) => existsSync(each) && extname(each) !== '')
      if (file === undefined) return response.writeHead(404).end()
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { chromium: launcher } = createRequire(`${root}docs/package.json`)('playwright-core')
    browser = await launcher.launch({ executablePath: chromium, args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'] })
  })
  afterAll(async () => {
    await browser?.close()
    server?.close()
  })

  /** A page, and what goes wrong on it: requests to other hosts, and errors of its scripts. */
  async function open(path: string, width: number): Promise<{ page: Page; wrong: string[] }> {
    const page = await browser.newPage({ viewport: { width, height: 900 } })
    const wrong: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) wrong.push(request.url())
    })
    page.on('pageerror', (error) => wrong.push(String(error)))
    await page.goto(base + path)
    await page.waitForLoadState('networkidle')
    return { page, wrong }
  }

  it('no page scrolls sideways at 400 or 1,280 px, asks another host, or has a script that fails', async () => {
    const { page, wrong } = await open('', 400)
    const faults: string[] = []
    for (const path of pages)
      for (const width of [400, 1280]) {
        await page.setViewportSize({ width, height: 900 })
        if (width === 400) await page.goto(base + path)
        const needed = await page.evaluate<number>('document.documentElement.scrollWidth')
        if (needed > width) faults.push(`${path}: ${needed} px at ${width}`)
      }
    expect([...faults, ...wrong]).toEqual([])
  })

  it('its search finds getLogs, without another host', async () => {
    const { page, wrong } = await open('', 1280)
    await page.click('.VPNavBarSearch button')
    await page.fill('.VPLocalSearchBox input', 'getLogs')
    await page.waitForSelector('.VPLocalSearchBox .result')
    const results = await page.evaluate<string[]>("[...document.querySelectorAll('.VPLocalSearchBox .result')].map(({ href }) => href)")
    expect(results.slice(0, 5)).toContain(`${base}reference/bulk.html#getlogs`)
    expect(results.some((href) => href.startsWith(`${base}logs.html`))).toBe(true)
    expect(wrong).toEqual([])
  })
})
