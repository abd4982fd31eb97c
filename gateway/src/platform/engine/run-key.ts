/** The engine's key of one run of a task. A run that has ended cannot start again, so the next run has a new key. */
export const runKey = (taskId: string, run: number): string => `${taskId}~${run}`

export const parseRunKey = (key: string): { taskId: string; run: number } => {
  const at = key.lastIndexOf('~')
  return { taskId: key.slice(0, at), run: Number(key.slice(at + 1)) }
}
