// Older versions fail in ways that explain nothing: they cannot run TypeScript, or miss parts of the platform.
if (!process.version.startsWith('v24.')) {
  process.stderr.write(
    `Kinora needs Node 24, and this is ${process.version} (${process.execPath}).\n` +
      'Run it through npm, which uses the version pinned in package.json: npm run check, npm test, npm run dev.\n',
  )
  process.exitCode = 1
}
