/** Opens a file or an address with the program that the desktop has for it. */
import { spawn } from 'node:child_process'

import { readTerminal } from '../connection/environment.ts'

const programs: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}

/** Whether a window can appear where the person sits. */
export const canOpen = (): boolean => {
  const { hasDesktop, isSsh } = readTerminal()
  return hasDesktop && !isSsh
}

/** Returns whether the program was started. Does not wait for it. */
export const openFile = (target: string): Promise<boolean> => {
  const [program, ...parameters] = programs[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(program, [...parameters, target], { detached: true, stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
