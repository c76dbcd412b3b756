"""Services whose keys look like any other random text, by the names that stand near such a key.

Names that are English words are left out: `box`, `front` and `render` stand near everything.
"""

from __future__ import annotations

SERVICES = frozenset(
    """
    abstractapi abuseipdb accuweather activecampaign adafruit adobesign adyen aeroworkflow aftership agora airbrake
    airship airtable airvisual alchemy alegra algolia alibaba aliyun allegro allsports alphavantage ambee amberdata
    amplitude anthropic anvil anypoint apideck apify apigee apilayer apimatic apiscience apitemplate appcues
    appfollow appointedd appoptics appsflyer appsync apptivo arcgis artifactory artsy asana assemblyai atera
    atlassian auddio autodesk autoklose autopilot avalara avaza avazapersonalaccesstoken aweber axonaut aylien
    backblaze bamboohr bannerbear baremetrics basecamp beebole besttime bigcommerce billomat binance bitbar
    bitbucket bitfinex bitly bitmex bitrise bittrex blablabus blazemeter blitapp blockfrost blocknative bluejeans
    bombbomb bonsai boostnote braintree brandfetch brevo browserstack btcpay buddyns bugsnag buildkite bulksms
    buttercms caflou calendarific calendly calorieninja campaignmonitor campayn cannyio capsulecrm carboninterface
    cashboard caspio censys centralstationcrm cexio chargebee chartmogul chatfuel checkmarket circleci ciscospark
    clearbit clickhelp clickmeter clicksend clickup cliengo clinchpad clockify cloudconvert cloudelements cloudflare
    cloudimage cloudinary cloudmersive cloudplan cloudsmith cloverly codacy codeclimate codecov codemagic codeship
    cohere coinapi coinbase coinlayer coinmarketcap coinpayments collibra commercejs companyhub confluence confluent
    connectwise constantcontact contentful contentstack conversiontools convertkit couchbase countrylayer
    crossbrowsertesting crunchbase cryptocompare currencycloud currencyfreaks currencylayer currencyscoop
    customerguru customerio d7network dailyco dareboost databox databricks datadog datagov deepai deepgram deepl
    deepseek delighted demio deputy detectify dfuse diffbot digicert digitalocean discogs discord dnsimple dockerhub
    docusign doppler dotdigital dovico dronahq drone dropbox duply dwolla dynalist dynatrace easyinsight easypost
    ecostruxure edamam edenai eightxeight elasticemail elevenlabs emailoctopus enablex endorlabs epicgames equinix
    ethermine etherscan ethplorer etsy eventbrite eventful everhour exchangerate expedia expensify factset fastforex
    fastly faunadb fibery figma fileio filestack finage financialmodelingprep findl finicity finnhub firebase
    fireworks fixerio flatio fleetbase flexport flickr flightapi flightstats flowflu flutterwave formbucket
    formcraft formio formsite foursquare freshbooks freshdesk freshservice frontegg fulcrum fullstory fusebill
    fxmarket gandi geckoboard gemnasium gengo geoapify geocodify getemail getemails getgeoapi getresponse giphy
    gitea gitguardian github gitlab gitter gladly glassnode gocanvas godaddy goodday gorgias grafana graphcms
    graphhopper greenhouse greynoise groq guardianapi gumroad gyazo hackerone hashicorp hellobonsai hellosign
    helpcrunch helpscout heroku hetzner holidayapi honeybadger honeycomb hotjar hubspot huggingface humanity
    hunterio hybiscus hypertrack iconfinder iexcloud imagekit imagga imgix imgur inflowinventory influxdb infura
    insightly insomnia instabot instamojo instatus intercom interseller intrinio invoiceocean ip2location ipapi
    ipdata ipgeolocation ipify ipinfo ipinfodb ipstack iterable jfrog jira jotform jumpcloud kaleyra kanbantool
    kayako keenio keepa kickbox klarna klaviyo knapsackpro kontent kraken kubecost kucoin kylas lacework langfuse
    langsmith languagelayer lastfm launchdarkly leadfeeder lemlist lemonsqueezy lendflow lessannoyingcrm lexigram
    linemessaging linenotify linkedin linkpreview linode liveagent liveblocks livekit locationiq logdna logentries
    loggly loginradius logz lokalise looker loyverse madkudu mailboxlayer mailchimp mailerlite mailgun mailjet
    mailmodo mailsac mailtrap mandrill mapbox mapquest marketstack mattermost mavenlink maxmind meaningcloud
    mediastack meistertask meraki mercadopago mesibo messagebird messari metaapi metrilo miro mistral mixmax
    mixpanel mockaroo mollie monday mongodb monkeylearn moonclerk moosend moralis mrticktock myfreshworks
    myintervals namecheap nasa nasdaq nethunt netlify netsuite newrelic newreliccollector newsapi newscatcher nexmo
    nextdns neynar nftport ngrok nightfall nordigen noticeable notion nozbe ntfy numverify nutritionix nylas nytimes
    oanda okta omnisend onedesk onelogin onepagecrm onesignal onfleet onwater oopspam openai opencagedata
    opengraphio openrouter openuv openweather openweathermap opsgenie optimizely owlbot pagarme pagerduty pandadoc
    pandascore paperform paperspace papertrail paralleldots parsehub parsers parseur partnerstack pastebin patreon
    paydirt paymo paymongo paypal paystack pdflayer pdfshift pendo peopledatalabs pepipost perplexity pinecone
    pingdom pinterest pipedream pipedrive pivotaltracker plaid planetscale planviewleankit planyo plivo podcastindex
    pollsapi poloniex polymail positionstack postageapp posthog postman postmark powrbot printful prodpad
    productboard prospectcrm prospectio protocolsio proxycrawl pulsedive pulumi purestake pushbullet pusher pushover
    qase qualaroo qualtrics quandl qubole quickbase quickbooks quickmetrics railway rapidapi rawg raygun razorpay
    realpage rebrandly rechargepayments recruitee recurly reddit refiner rentman repairshopr replicate replyio
    requestfinance resend restpack ringcentral riotgames roaring rocketreach rollbar route4me rownd runpod runrunit
    salesblink salescookie salesflare salesforce salesloft samsara sanity satismeter saucelabs scaleway scalr
    scrapeowl scraperapi scraperbox scrapersite scrapestack scrapfly scrapingant scrapingbee screenscraper
    screenshotapi screenshotlayer scrutinizer securitytrails selectpdf semaphore sendbird sendgrid sendinblue
    sendowl sentry serpapi serpstack servicenow sherpadesk shipday shipengine shippo shipstation shodan shopify
    shortcut shotscribus shotstack shutterstock sigfox signable signalwire sigopt simfin simplesat simplynoted
    simplyrets sinch sirv siteleaf skrappio skybiometry skylight slack smartling smartsheet smartystreets smooch
    smsapi snapchat snipcart snov snowflake snyk softlayer sonarcloud sonarqube soundcloud sourcegraph sparkpost
    speechmatics speechtext splunk splunkobservability spoonacular sportsmonk spotify sproutsocial squarespace
    statuscake statuspage statuspal stitchdata stockdata storecove stormglass storyblok strapi strava stripe stripo
    stytch sugester sumologic supabase supernotes surveyanyplace surveysparrow survicate swiftype tableau tailscale
    tallyfy tapapi tavily teamcity teamgate teamviewer teamwork telegram telnyx tencent testingbot textmagic
    themoviedb thinkific thousandeyes ticketmaster tickettailor tiingo tiktok timecamp timezoneapi tink tmdb todoist
    toggl tokeet tomorrowio tradier transferwise transifex travelpayouts travisci trello truelayer trustpilot tumblr
    twelvedata twilio twist twitch twitter tyntec typeform typetalk ubidots unplugg unsplash upcdatabase uplead
    uploadcare upstash uptimerobot upviral upwave urlscan userback userflow userstack uservoice valtown vbout venafi
    vercel veriff verimail versioneye victorops viewneo vimeo virustotal visualcrossing voicegain vonage vouchery
    vpnapi vultr wakatime walmart wandb weatherapi weatherbit weatherstack weaviate webex webflow webscraper
    webscraping websitepulse weightsandbiases wepay wepow whatcms whispir whoisxml whoxy wistia woocommerce
    wordpress workday workos workstack worldcoinindex worldpay worldweather wrike xero xplore yandex yelp ynab
    yodlee youneedabudget yousign zapier zendesk zenkit zenscrape zenserp zeplin zerobounce zipapi zipbooks
    zipcodeapi zoho zonkafeedback zoom zulip zuora
    """.split()  # noqa: SIM905 - one word a line would be eight hundred lines
)
