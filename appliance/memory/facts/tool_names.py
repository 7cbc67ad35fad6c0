"""Programs, languages and systems, whose names people write without capitals."""

from __future__ import annotations

_TOOL_NAMES = """
postgres | postgresql | mysql | mariadb | sqlite | mongodb | mongo | redis | elasticsearch | opensearch | kafka |
rabbitmq | cassandra | clickhouse | duckdb | snowflake | bigquery | dynamodb | supabase | firebase | qdrant | pgvector
| neo4j | influxdb | oracle db | sql server | python | django | flask | fastapi | pandas | numpy | polars | pytorch |
tensorflow | keras | jax | scikit-learn | sklearn | jupyter | pytest | poetry | uv | pip | conda | mypy | ruff | black
| javascript | typescript | node | node.js | nodejs | deno | bun | npm | yarn | pnpm | webpack | vite | rollup | react
| react native | vue | vue.js | nuxt | angular | svelte | sveltekit | next.js | nextjs | remix | astro | tailwind |
tailwind css | bootstrap | express | nestjs | graphql | grpc | jest | vitest | cypress | playwright | selenium |
storybook | eslint | prettier | rust | cargo | go | golang | java | kotlin | scala | spring | spring boot | maven |
gradle | c | c++ | c# | .net | f# | ruby | rails | ruby on rails | sinatra | php | laravel | symfony | wordpress |
drupal | perl | haskell | elixir | phoenix | erlang | clojure | lua | r | rstudio | julia | matlab | swift | swiftui |
flutter | dart | objective-c | bash | zsh | powershell | tmux | vim | neovim | nvim | emacs | helix | vs code | vscode
| visual studio | visual studio code | intellij | pycharm | webstorm | xcode | android studio | sublime | sublime text
| cursor | zed | obsidian | notion | evernote | onenote | logseq | jira | trello | asana | clickup | confluence |
slack | teams | microsoft teams | discord | zoom | google meet | signal | telegram | whatsapp | thunderbird | outlook
| gmail | github | gitlab | bitbucket | git | svn | mercurial | github actions | gitlab ci | jenkins | circleci |
travis | teamcity | argocd | docker | docker compose | podman | kubernetes | k8s | k3s | helm | terraform | opentofu |
pulumi | ansible | vagrant | nix | nixos | homebrew | aws | azure | gcp | google cloud | heroku | vercel | netlify |
cloudflare | digitalocean | hetzner | fly.io | linux | ubuntu | debian | fedora | arch | arch linux | linux mint |
centos | rhel | opensuse | manjaro | alpine | macos | mac os | os x | osx | windows | wsl | wsl2 | android | ios |
ipados | chromeos | freebsd | openbsd | grafana | prometheus | datadog | sentry | splunk | nginx | apache | caddy |
traefik | haproxy | pgbouncer | celery | airflow | dbt | spark | hadoop | flink | tableau | power bi | looker |
metabase | excel | powerpoint | google docs | google sheets | libreoffice | latex | overleaf | zotero | mendeley |
photoshop | lightroom | illustrator | indesign | figma | canva | gimp | inkscape | blender | autocad | solidworks |
fusion 360 | unity | unreal | unreal engine | godot | premiere | davinci resolve | final cut | audacity | ableton |
logic pro | fl studio | firefox | chrome | safari | brave | opera | chatgpt | claude | gemini | copilot | github
copilot | ollama | llama.cpp | lm studio | openai | langchain | llamaindex | hugging face | huggingface | raspberry pi
| arduino | home assistant | plex | jellyfin | nextcloud | dropbox | google drive | onedrive | icloud | 1password |
bitwarden | keepass | salesforce | hubspot | shopify | stripe | quickbooks | sap | zapier | make.com | n8n | ynab |
spotify | kindle | flask-login | sqlalchemy | alembic | prisma | typeorm | hibernate | opentelemetry | istio | consul
| vault | minio | s3 | lambda | heroku postgres | sharepoint | stata | spss | sas
"""
TOOLS = frozenset(name.strip() for name in " ".join(_TOOL_NAMES.split()).split("|"))
