/** What `/console` shows if the console was not built. */
export const missingPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kinora</title>
</head>
<body>
<h1>The console is not built</h1>
<p>Run <code>npm run build:console</code> in the folder of the project, then reload this page.</p>
</body>
</html>
`
