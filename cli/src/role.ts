/** Runs one role until it is told to stop: by a signal, or by the end of the process that started it. */

interface Running {
  close: () => Promise<void>
}

const waitForStop = () =>
  new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
    process.once('disconnect', () => resolve())
  })

export const runRole = async (start: () => Promise<Running>, drainMs: number): Promise<void> => {
  const stop = waitForStop()
  const running = await start()
  process.send?.({ event: 'ready' })
  await stop
  // What does not finish in time is cut off; the record and the engine take it up again.
  setTimeout(() => process.exit(0), drainMs).unref()
  await running.close()
  process.exit(0)
}
