/** Validates a manifest against the published schemas of Kubernetes and of the Prometheus Operator. */
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount'

import type { Manifest } from './kustomize.ts'

const models = [
  ...[Deployment, StatefulSet, HorizontalPodAutoscaler, Job, Ingress, NetworkPolicy, PodDisruptionBudget],
  ...[ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service, ServiceAccount, ServiceMonitor],
]

/**
 * The validators ignore unknown fields. They read every field that the schema knows, so a field that was never read is
 * unknown. `unread` collects the paths of the others while the validator runs.
 */
const observe = (node: object, path: string, unread: Set<string>): object => {
  const children = new Map<PropertyKey, object>()
  for (const [key, value] of Object.entries(node) as [string, unknown][]) {
    const inner = `${path}/${key}`
    unread.add(inner)
    if (typeof value === 'object' && value !== null) children.set(key, observe(value, inner, unread))
  }
  return new Proxy(node, {
    get: (target, key) => {
      unread.delete(`${path}/${String(key)}`)
      return children.get(key) ?? (Reflect.get(target, key) as unknown)
    },
  })
}

/** The problems of a manifest: unknown kinds, unknown fields, missing fields and wrong values. */
export const problemsOf = (manifest: Manifest): string[] => {
  const model = models.find(
    ({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind,
  )
  if (model === undefined) return [`${manifest.apiVersion} ${manifest.kind} has no schema`]
  const unread = new Set<string>()
  try {
    model.prototype.validate.call(observe(manifest, '', unread))
  } catch (error) {
    return [(error as Error).message]
  }
  const isWithin = (path: string) => [...unread].some((outer) => path.startsWith(`${outer}/`))
  return [...unread].filter((path) => !isWithin(path)).map((path) => `${path} is not a field`)
}
