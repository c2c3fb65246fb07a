/**
 * What OpenSSL says of a server that answers without TLS: its own text is an address in memory and
 * a line of C. Which one it is depends on the first bytes and on the version.
 */
const WITHOUT_TLS = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']

/** A host with several addresses fails with one error that holds one for each address. */
export function firstFailure(error: Error): Error {
  return error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
}

/** Why a connection failed, with the code of the system if the text lacks it: ` (CODE): text`. */
export function whyNoConnection({ code = '', message }: NodeJS.ErrnoException): string {
  const named = message.includes(code) ? '' : ` (${code})`
  return `${named}: ${WITHOUT_TLS.includes(code) ? 'the server answers without TLS, so its URL begins with http:// or ws://' : message}`
}
