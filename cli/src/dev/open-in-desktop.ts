import { spawn } from 'node:child_process'

import type { Environment } from './foreign-process.ts'

/** Whether a window can appear where the person sits. */
const hasDesktop = (environment: Environment): boolean => {
  if (environment['SSH_CONNECTION'] !== undefined) return false
  if (process.platform === 'darwin') return true
  return environment['DISPLAY'] !== undefined || environment['WAYLAND_DISPLAY'] !== undefined
}

/** Opens a file or a URL with the program that the desktop has for it. Returns whether that was started. */
export const openInDesktop = (target: string, environment: Environment): Promise<boolean> => {
  if (!hasDesktop(environment)) return Promise.resolve(false)
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  return new Promise((resolve) => {
    const child = spawn(opener, [target], { env: { ...environment }, detached: true, stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
