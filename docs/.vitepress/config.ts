import { defineConfig } from 'vitepress'
import { anchorOf } from '../site/anchor.ts'
import { linkOnSite, MADE } from '../site/places.ts'
import { sidebar } from '../site/sidebar.ts'

/** A link of the sidebar: pages have no `.md` on the site. */
const linkOf = (page: string) => `/${page.replace(/(?:index)?\.md$/, '')}`

const titles = new Map(sidebar.flatMap(({ pages }) => pages.map(({ page, text }) => [page, text])))

export default defineConfig({
  title: 'hexline',
  description: 'A typed JSON-RPC engine for Ethereum nodes: batching, retries, learnt limits, verified blocks and logs.',
  lang: 'en',
  srcExclude: ['node_modules/**', 'site/**'],
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    anchor: { slugify: anchorOf },
    config(md) {
      // Links are those of the project, as GitHub needs them.
      md.core.ruler.push('links-on-site', ({ tokens, env }) => {
        for (const { children } of tokens)
          for (const [i, token] of (children ?? []).entries()) {
            const target = token.type === 'link_open' ? token.attrGet('href') : null
            if (target === null) continue
            token.attrSet('href', linkOnSite(decodeURI(target), env.relativePath))
            // A page that a link names by its file is named by its title.
            const text = children?.[i + 1]
            if (text?.type === 'text') text.content = titles.get(text.content) ?? text.content
          }
      })
    },
  },
  // Pages show charts of the benchmark.
  vite: { server: { fs: { allow: ['..'] } } },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'API', link: `/${MADE}/hexline` },
      { text: 'Errors', link: '/errors' },
      { text: 'Changelog', link: `/${MADE}/files/CHANGELOG` },
    ],
    sidebar: sidebar.map(({ text, pages }) => ({ text, items: pages.map((each) => ({ text: each.text, link: linkOf(each.page) })) })),
    outline: { level: [2, 3], label: 'On this page' },
    docFooter: { prev: 'Previous', next: 'Next' },
    search: {
      provider: 'local',
      options: {
        // Copies of sources would hide the pages that explain them.
        _render: (source, env, md) => (env.relativePath.startsWith(`${MADE}/files/`) ? '' : md.render(source, env)),
        miniSearch: { searchOptions: { boost: { title: 8, titles: 1, text: 1 }, prefix: true, fuzzy: 0.1 } },
      },
    },
  },
})
