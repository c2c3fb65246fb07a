/** A link of a Markdown page, or the address of an image. */
export interface Link {
  /** As it stands there, such as `logs.md#viem`. */
  readonly target: string
  readonly isImage: boolean
}

/** The links of a page, but for those in its code. */
export function linksOf(markdown: string): Link[] {
  return [...withoutCode(markdown).matchAll(/(!?)\[(?:[^[\]]|\[[^\]]*\])*\]\(([^()\s]*)\)/g)].map(([, mark, target]) => ({
    target: target as string,
    isImage: mark === '!',
  }))
}

/** The headings of a page, without their marks. */
export function headingsOf(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/^#+ +(.*)$/gm)].map(([, heading]) => heading as string)
}

/** True for a link that leads out of the project. */
export function isExternal(target: string): boolean {
  return /^[a-z]+:/.test(target)
}

function withoutCode(markdown: string): string {
  return withoutFences(markdown).replaceAll(/(`+)[^`][\s\S]*?\1/g, '')
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^( *)(```+)[\s\S]*?^\1\2$/gm, '')
}
