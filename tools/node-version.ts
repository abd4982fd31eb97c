// Older versions of Node fail with misleading errors: they cannot run TypeScript, or lack platform APIs.
if (!process.version.startsWith('v24.')) {
  process.stderr.write(
    `Kinora needs Node 24; this is ${process.version} (${process.execPath}).\n` +
      'Use the npm scripts, which run the version pinned in package.json: npm run check, npm test, npm run dev.\n',
  )
  process.exitCode = 1
}
