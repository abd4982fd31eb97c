/**
 * Every metric, with its unit, labels, buckets and meaning. docs/metrics.md is generated from it, and a metric that is not
 * listed here cannot be recorded.
 */
import { localMetrics, processMetrics } from './process-metrics.ts'
import { httpMetrics, providerMetrics, routingMetrics, taskMetrics } from './request-metrics.ts'
import {
  engineMetrics,
  mediaMetrics,
  moneyMetrics,
  securityMetrics,
  storageMetrics,
  webhookMetrics,
} from './upkeep-metrics.ts'

export const metricTable = {
  ...httpMetrics,
  ...providerMetrics,
  ...taskMetrics,
  ...routingMetrics,
  ...moneyMetrics,
  ...securityMetrics,
  ...storageMetrics,
  ...engineMetrics,
  ...webhookMetrics,
  ...mediaMetrics,
  ...processMetrics,
  ...localMetrics,
}

export type MetricName = keyof typeof metricTable
