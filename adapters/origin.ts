/**
 * Scheme and host of an endpoint, by the name that errors have for it: of a URL's path, where the key may be, there is nothing. Several
 * endpoints of one host are told apart by a number, which belongs to no URL.
 */
export function originOf(name: string | undefined, endpoints: readonly string[]): string {
  const host = name?.replace(/#\d+$/, '')
  return endpoints.find((origin) => host === undefined || origin === host || origin.endsWith(`//${host}`)) ?? host ?? ''
}
