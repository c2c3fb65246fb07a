/** A self-signed certificate for localhost, and its key: those of the benchmark. */
export { cert, key } from '../../bench/certificate.ts'
