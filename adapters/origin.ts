/**
 * The scheme and host of the endpoint with this name in an error. The path is left out, since it
 * may hold the key. A number tells several endpoints of one host apart; it is not part of any URL.
 */
export function originOf(name: string | undefined, endpoints: readonly string[]): string {
  const host = name?.replace(/#\d+$/, '')
  return endpoints.find((origin) => host === undefined || origin === host || origin.endsWith(`//${host}`)) ?? host ?? ''
}
