import { readdirSync, readFileSync } from 'node:fs'

/** The names of all running descendant processes. */
export function childPrograms(): string[] {
  return below(process.pid)
}

function below(pid: number): string[] {
  return children(pid).flatMap((child) => {
    const name = read(`/proc/${child}/comm`)
    return [...(name === '' ? [] : [name]), ...below(child)]
  })
}

function children(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    // The process ended in the meantime.
    return ''
  }
}
