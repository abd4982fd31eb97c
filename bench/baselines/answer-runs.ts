/** Runs as many tasks as a message says, and answers when all have ended. Tells the parent that the process is ready. */
export const answerRuns = (run: (count: number) => Promise<void>): void => {
  process.on('message', (count: number) => {
    run(count).then(
      () => process.send?.('ended'),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.send?.('ready')
}
