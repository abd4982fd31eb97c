/** Prometheus with the rules and Alertmanager with its example, both with divided times, and what they send to somebody. */
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { stringify } from 'yaml'

import { createPart, until } from '../faults/part.ts'
import { writeScaledAlertmanager, writeScaledRules } from './scale-rules.ts'

interface Notification {
  alerts: { status: 'firing' | 'resolved'; fingerprint: string; labels: Record<string, string> }[]
}

export interface Alerting extends AsyncDisposable {
  /** Whether somebody was told that the alert fires, and not yet that it has cleared. */
  isFiring: (name: string) => boolean
  /** The receivers that were told of the alert: `page` or `ticket`. */
  receiversOf: (name: string) => string[]
  /** The alerts that fire in Prometheus, even if Alertmanager does not send them. */
  firing: () => Promise<string[]>
}

export interface AlertingOptions {
  directory: string
  ports: { prometheus: number; alertmanager: number }
  /** The address of the metrics of each job. */
  targets: Record<string, string>
  factor: number
}

const startProgram = async (
  logDirectory: string,
  [program, ...parameters]: [string, ...string[]],
  url: string,
) => {
  const part = createPart({
    name: program,
    line: [program, ...parameters],
    environment: { PATH: process.env['PATH'] },
    logDirectory,
    untilReady: () => until(`${program} is ready`, async () => (await fetch(`${url}/-/ready`)).ok),
  })
  await part.start()
  return { [Symbol.asyncDispose]: () => part.kill('SIGTERM') }
}

const startReceiver = async () => {
  const alerts = new Map<string, { name: string; receiver: string; isFiring: boolean }>()
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const receiver = (request.url ?? '').slice(1)
      for (const { status, fingerprint, labels } of (JSON.parse(body) as Notification).alerts) {
        const name = labels['alertname'] ?? ''
        alerts.set(fingerprint, { name, receiver, isFiring: status === 'firing' })
      }
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    of: (name: string) => [...alerts.values()].filter((alert) => alert.name === name),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

export const startAlerting = async ({
  directory,
  ports,
  targets,
  factor,
}: AlertingOptions): Promise<Alerting> => {
  await using started = new AsyncDisposableStack()
  await mkdir(directory)
  const receiver = started.use(await startReceiver())
  const [prometheus, alertmanager] = [ports.prometheus, ports.alertmanager].map((port) => `127.0.0.1:${port}`)

  const alertmanagerFile = join(directory, 'alertmanager.yml')
  await writeScaledAlertmanager(alertmanagerFile, factor, receiver.url)
  started.use(
    await startProgram(
      directory,
      [
        'prometheus-alertmanager',
        `--config.file=${alertmanagerFile}`,
        `--storage.path=${join(directory, 'alertmanager')}`,
        ...[`--web.listen-address=${alertmanager}`, '--cluster.listen-address='],
      ],
      `http://${alertmanager}`,
    ),
  )
  const prometheusFile = join(directory, 'prometheus.yml')
  await writeFile(
    prometheusFile,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [await writeScaledRules(join(directory, 'rules'), factor)],
      alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
      scrape_configs: Object.entries(targets).map(([job_name, target]) => ({
        job_name,
        static_configs: [{ targets: [target] }],
      })),
    }),
  )
  started.use(
    await startProgram(
      directory,
      [
        'prometheus',
        `--config.file=${prometheusFile}`,
        `--storage.tsdb.path=${join(directory, 'data')}`,
        // A firing alert is sent again this often; Alertmanager clears it if it is not.
        ...['--rules.alert.resend-delay=1s', `--web.listen-address=${prometheus}`],
      ],
      `http://${prometheus}`,
    ),
  )
  const owned = started.move()
  return {
    isFiring: (name) => receiver.of(name).some((alert) => alert.isFiring),
    receiversOf: (name) => [...new Set(receiver.of(name).map((alert) => alert.receiver))],
    firing: async () => {
      const response = await fetch(`http://${prometheus}/api/v1/alerts`)
      const { data } = (await response.json()) as {
        data: { alerts: { state: string; labels: Record<string, string> }[] }
      }
      return data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => labels['alertname'] ?? '')
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
