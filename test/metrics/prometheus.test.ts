import { expect, test } from 'vitest'
import { prometheusName, prometheusText } from '../../src/metrics/prometheus.ts'
import { Histogram, Series } from '../../src/metrics/series.ts'

test('counters, gauges and histograms in the text format', () => {
  const calls = new Series(2, () => ({ value: 0 }))
  calls.at('node:8545', 'eth_call').value = 3
  const seconds = new Series(1, () => new Histogram([0.5, 1]))
  for (const value of [0.25, 0.75, 5]) seconds.at('node:8545').add(value)
  const text = prometheusText([
    { type: 'counter', name: 'calls', help: 'Calls.', unit: '{call}', labels: ['endpoint', 'method'], series: calls },
    { type: 'gauge', name: 'calls.in_flight', help: 'Now.', unit: '{call}', labels: [], series: [[[], { value: 2 }]] },
    { type: 'histogram', name: 'post.duration', help: 'Time.', unit: 's', labels: ['endpoint'], bounds: [0.5, 1], series: seconds },
  ])
  expect(text).toBe(`# HELP hexline_calls_total Calls.
# TYPE hexline_calls_total counter
hexline_calls_total{endpoint="node:8545",method="eth_call"} 3
# HELP hexline_calls_in_flight Now.
# TYPE hexline_calls_in_flight gauge
hexline_calls_in_flight 2
# HELP hexline_post_duration_seconds Time.
# TYPE hexline_post_duration_seconds histogram
hexline_post_duration_seconds_bucket{endpoint="node:8545",le="0.5"} 1
hexline_post_duration_seconds_bucket{endpoint="node:8545",le="1"} 2
hexline_post_duration_seconds_bucket{endpoint="node:8545",le="+Inf"} 3
hexline_post_duration_seconds_sum{endpoint="node:8545"} 6
hexline_post_duration_seconds_count{endpoint="node:8545"} 3
`)
})

test('labels are escaped', () => {
  const series = new Series(1, () => ({ value: 1 }))
  series.at('a"b\\c\nd')
  const text = prometheusText([{ type: 'gauge', name: 'x', help: 'X.', unit: '{x}', labels: ['endpoint'], series }])
  expect(text.split('\n')[2]).toBe('hexline_x{endpoint="a\\"b\\\\c\\nd"} 1')
})

test('names end with their unit, and counters with total', () => {
  expect(prometheusName({ name: 'received.size', unit: 'By', type: 'counter' })).toBe('hexline_received_bytes_total')
  expect(prometheusName({ name: 'limit.rate', unit: '{call}/s', type: 'gauge' })).toBe('hexline_limit_rate_calls_per_second')
})
