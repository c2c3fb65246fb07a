/** hexline/otel: spans and metrics of hexline for OpenTelemetry. */
export { type InstrumentOptions, instrument } from './instrument.ts'
