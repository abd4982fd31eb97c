/**
 * `npm run prove:webhooks`: webhooks at full length: 5,005 deliveries to receivers of eleven kinds, 300 endpoints that hang with
 * 10,000 events, 20 kills with 1,000 events pending, and signatures verified by the `openai` library for Python. The last part needs
 * root and mmdebstrap. PYTHON_ROOT names a directory with Debian's python3-openai, to skip its installation.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { signWebhook } from '../gateway/src/webhooks/signing/sign-webhook.ts'
import { createWebhookSecret } from '../gateway/src/webhooks/signing/webhook-secret.ts'

const root = join(import.meta.dirname, '..')
const nowSeconds = () => Math.floor(Date.now() / 1000)

const runTests = (): boolean => {
  const journeys = join(root, 'gateway/test/journeys')
  const files = ['webhooks.test.ts', 'hanging-webhooks.test.ts'].map((name) => join(journeys, name))
  const addresses = join(root, 'gateway/src/safe-fetch/hostile-urls.test.ts')
  const projects = ['unit', 'journeys', 'measures'].flatMap((name) => ['--project', name])
  const numbers = {
    WEBHOOK_TASKS: '455',
    WEBHOOK_KILLED_TASKS: '500',
    WEBHOOK_KILLS: '20',
    WEBHOOK_HANGING: '300',
    WEBHOOK_HANGING_EVENTS: '10000',
    WEBHOOK_SAMPLES: '200',
  }
  // npm scripts have vitest in their path.
  const { status } = spawnSync('vitest', ['run', ...projects, ...files, addresses], {
    stdio: 'inherit',
    env: { ...process.env, ...numbers },
  })
  return status === 0
}

/** The library for Python accepts what is signed here, and nothing that was changed or is old. */
const verifyWithPython = (): boolean => {
  const work = mkdtempSync(join(tmpdir(), 'kinora-prove-webhooks-'))
  try {
    const python = process.env['PYTHON_ROOT'] ?? join(work, 'root')
    if (!existsSync(join(python, 'usr/bin/python3'))) {
      console.log('Installing python3-openai into a directory…')
      const parameters = ['--quiet', '--variant=minbase', '--include=python3-openai']
      const ignoresDates = '--aptopt=Acquire::Check-Valid-Until "false"'
      execFileSync('mmdebstrap', [...parameters, ignoresDates, 'sid', python], { stdio: 'inherit' })
    }
    const [secret, previous] = [createWebhookSecret(), createWebhookSecret()]
    const body = JSON.stringify({
      id: 'evt_1',
      object: 'event',
      type: 'video.completed',
      created_at: nowSeconds(),
      data: { id: 'video_1' },
    })
    const sign = (timestamp: number) => signWebhook({ id: 'evt_1', timestamp, body }, [secret, previous], [])
    const message = {
      body,
      secrets: [secret.reveal(), previous.reveal()],
      headers: sign(nowSeconds()),
      old_headers: sign(nowSeconds() - 600),
    }
    writeFileSync(join(python, 'tmp/message.json'), JSON.stringify(message))
    copyFileSync(join(root, 'tools/verify-webhook.py'), join(python, 'tmp/verify-webhook.py'))
    const command = ['chroot', python, 'python3', '/tmp/verify-webhook.py']
    const { status } = spawnSync('env', ['-i', 'PATH=/usr/sbin:/usr/bin:/bin', ...command], {
      stdio: 'inherit',
    })
    return status === 0
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const results = [runTests(), verifyWithPython()]
const failed = results.filter((passed) => !passed).length
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
