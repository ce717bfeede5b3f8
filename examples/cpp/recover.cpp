// A recovery conducted by `aquamend serve`, from C++: libcurl and nlohmann-json, nothing else.
//
//   g++ -std=c++17 -O2 -Wall -o recover recover.cpp -lcurl
//   ./recover http://127.0.0.1:8642 lid-17 screw '{"weigh": "M8"}'
//
// The arguments: the address of the service, the name of the session, the problem that the service keeps, and what the
// pretended robot finds when it measures. A token is taken from AQUAMEND_TOKEN. Put your own robot in the place of Robot.

#include <curl/curl.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

using nlohmann::json;

// A refusal of the service: the problem document says why.
struct Refused : std::runtime_error {
  explicit Refused(json document)
      : std::runtime_error(document.value("detail", "no reason given")), document(std::move(document)) {}
  std::string kind() const { return document.value("type", ""); }
  json document;
};

// Asks the service; one connection is kept for all requests.
class Service {
 public:
  explicit Service(std::string address) : address_(std::move(address)), curl_(curl_easy_init(), curl_easy_cleanup) {
    if (!curl_) throw std::runtime_error("libcurl could not be started");
    add_header("content-type: application/json");
    if (const char* token = std::getenv("AQUAMEND_TOKEN")) add_header(std::string("authorization: Bearer ") + token);
  }
  ~Service() { curl_slist_free_all(headers_); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  json get(const std::string& path) { return ask(path, nullptr); }
  json post(const std::string& path, const json& said) {
    const std::string body = said.dump();
    return ask(path, &body);
  }

  std::string escaped(const std::string& name) {
    std::unique_ptr<char, decltype(&curl_free)> text(
        curl_easy_escape(curl_.get(), name.c_str(), static_cast<int>(name.size())), curl_free);
    return text ? text.get() : "";
  }

 private:
  json ask(const std::string& path, const std::string* body) {
    std::string answer;
    CURL* curl = curl_.get();
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, (address_ + path).c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 90L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    if (body) {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
    }
    if (CURLcode failed = curl_easy_perform(curl); failed != CURLE_OK)
      throw std::runtime_error(address_ + path + ": " + curl_easy_strerror(failed));
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    json found = json::parse(answer);
    if (status >= 400) throw Refused(std::move(found));
    return found;
  }

  static size_t collect(char* data, size_t size, size_t count, void* answer) {
    static_cast<std::string*>(answer)->append(data, size * count);
    return size * count;
  }

  void add_header(const std::string& line) { headers_ = curl_slist_append(headers_, line.c_str()); }

  std::string address_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  curl_slist* headers_ = nullptr;
};

// A pretended robot: it finds what it was given, and does at once whatever it is asked.
struct Robot {
  json findings;

  json measure(const json& act) const {
    const std::string probe = act.at("probe");
    if (!findings.contains(probe)) return {{"done", false}, {"finding", "there is no such sensor"}};
    return {{"done", true}, {"finding", findings.at(probe)}};
  }
  json perform(const json&) const { return {{"done", true}}; }
  json stop(const json&) const { return {{"done", true}}; }     // its acts are over before anybody can ask
  json verify(const json&) const { return {{"done", nullptr}}; }  // it cannot tell: a person is asked
};

// Return the session as it stands: begun now, or taken up where another program has left it.
json opened(Service& service, const std::string& name, const std::string& problem) {
  try {
    return service.post("/api/sessions", {{"session", name}, {"kept", problem}});
  } catch (const Refused& refused) {
    if (refused.kind() != "urn:aquamend:used-name") throw;
  }
  std::cout << name << " is there already, and is taken up again" << std::endl;
  try {
    return service.post("/api/sessions/" + service.escaped(name) + "/resume", json::object());
  } catch (const Refused& refused) {
    if (refused.kind() != "urn:aquamend:used-name") throw;
    return service.get("/api/sessions/" + service.escaped(name) + "/request");  // it is still conducted there
  }
}

int recover(Service& service, const Robot& robot, const std::string& name, const std::string& problem) {
  const std::string path = "/api/sessions/" + service.escaped(name);
  json now = opened(service, name, problem);
  while (now.at("request").at("kind") != "end") {
    const json request = now.at("request");
    const std::string kind = request.at("kind");
    if (kind == "wait" || kind == "decide") {  // nothing may begin: wait until something else is asked for
      if (kind == "wait") std::cout << "waits: " << request.at("reason").get<std::string>() << std::endl;
      const std::string number = request.at("number").dump();
      do now = service.get(path + "/request?after=" + number + "&wait=30");
      while (now.at("request").at("number") == request.at("number"));
      continue;
    }
    const json& act = request.at("act");
    std::cout << kind << ": " << act.dump() << std::endl;
    json reply = kind == "measure" ? robot.measure(act)
                 : kind == "perform" ? robot.perform(act)
                 : kind == "stop"    ? robot.stop(act)
                                     : robot.verify(act);
    reply["to"] = request.at("number");
    now = service.post(path + "/reply", reply);
  }
  std::cout << now.at("ending").get<std::string>() << ", at a cost of " << now.at("cost") << " "
            << now.at("unit").get<std::string>() << std::endl;
  return now.at("ending") == "finished" ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: recover ADDRESS SESSION PROBLEM FINDINGS" << std::endl;
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  try {
    Service service(argv[1]);
    return recover(service, Robot{json::parse(argv[4])}, argv[2], argv[3]);
  } catch (const Refused& refused) {
    std::cerr << "refused: " << refused.what() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
  }
  return 2;
}
