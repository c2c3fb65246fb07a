import { type HexlineError, RpcError } from '../errors.ts'

/** The server's own message where it sent one, else the error's. */
export function serverMessage(error: HexlineError): string {
  return error instanceof RpcError ? error.said : error.message
}
